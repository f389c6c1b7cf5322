//! Prevents the AWS SDK from leaking secrets to the network and to logs.

use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider, future},
};
use aws_sdk_bedrockruntime::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_smithy_runtime_api::{box_error::BoxError, client::interceptors::context::BeforeTransmitInterceptorContextRef};
use http::Uri;
use tracing::Dispatch;

use crate::{redact::keep_secret, route::Route};

/// Checks the address of each request before it is signed, because several sources can set the address.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) plain_http: bool,
    /// Receives the log lines about proxies, since the SDK itself runs without a subscriber.
    pub(super) log: Dispatch,
}

/// Why a request was not sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotSent(pub String);

impl Intercept for Guard {
    fn name(&self) -> &'static str {
        "MemoryKeyGuard"
    }

    fn read_before_signing(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let uri: Uri = context.request().uri().parse()?;
        let route = Route::of_environment(&uri, true);
        tracing::dispatcher::with_default(&self.log, || route.check(self.plain_http))
            .map_err(|what| NotSent(what).into())
    }
}

/// Registers credentials of the SDK's chain with the redactor when they are loaded.
#[derive(Debug)]
pub(super) struct RegisteredCredentials(pub(super) SharedCredentialsProvider);

impl ProvideCredentials for RegisteredCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            let credentials = self.0.provide_credentials().await?;
            keep_secret(credentials.secret_access_key());
            if let Some(token) = credentials.session_token() {
                keep_secret(token);
            }
            Ok(credentials)
        })
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        self.0.fallback_on_interrupt()
    }
}
