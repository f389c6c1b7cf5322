//! The AWS SDK's client of Bedrock.

mod guard;

use std::{error::Error, fmt, time::Duration};

use aws_config::{BehaviorVersion, Region, retry::RetryConfig, timeout::TimeoutConfig};
use aws_credential_types::provider::{SharedCredentialsProvider, error::CredentialsError};
use aws_sdk_bedrockruntime::{Client, config::Token};
use aws_smithy_http_client::{
    Builder, ConnectorBuilder,
    proxy::ProxyConfig,
    tls::{Provider, rustls_provider::CryptoMode},
};
use aws_smithy_runtime_api::client::{auth::http::HTTP_BEARER_AUTH_SCHEME_ID, http::SharedHttpClient};
use tokio::sync::OnceCell;
use tracing::{Dispatch, instrument::WithSubscriber, subscriber::NoSubscriber};

pub use self::guard::NotSent;
use self::guard::{Guard, RegisteredCredentials};
use crate::{
    ApiKey, causes,
    redact::{keep_secret_of_address, redacted},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Remedy for missing credentials; part of errors.
pub const HOW_CREDENTIALS: &str =
    "set AWS_PROFILE, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK, or log in again";

/// Ways of reaching Bedrock.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The region; by default the one of the environment, the profile or the machine.
    pub region: Option<String>,
    /// A Bedrock API key, which precedes the credentials chain.
    pub api_key: Option<ApiKey>,
    /// Another endpoint than the region's.
    pub endpoint: Option<String>,
    /// True to allow plain http to another machine, which exposes the key or the session token.
    pub plain_http: bool,
}

impl Access {
    /// Access with these settings.
    #[must_use]
    pub fn new(region: Option<String>, api_key: Option<ApiKey>, endpoint: Option<String>, plain_http: bool) -> Self {
        if let Some(endpoint) = &endpoint {
            keep_secret_of_address(endpoint);
        }
        Self { region, api_key, endpoint, plain_http }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, api_key, endpoint, plain_http } = self;
        // The address may contain a password.
        f.debug_struct("Access")
            .field("region", region)
            .field("api_key", api_key)
            .field("endpoint", &endpoint.as_deref().map(redacted))
            .field("plain_http", plain_http)
            .finish()
    }
}

/// A client of Bedrock that is created on the first call, because that may query the machine for its region.
///
/// The SDK's own retries are off. The SDK runs without a `tracing` subscriber, because it logs the values of
/// environment variables, including keys.
#[derive(Debug)]
pub struct Connection {
    access: Access,
    client: OnceCell<Client>,
}

/// No region is known.
#[derive(Debug, thiserror::Error)]
#[error("no AWS region: give one, or set AWS_REGION")]
pub struct NoRegion;

impl Connection {
    /// A connection without a client yet. Sends nothing.
    #[must_use]
    pub fn new(access: Access) -> Self {
        Self { access, client: OnceCell::new() }
    }

    /// A connection whose client has these credentials and reads nothing of the environment, for tests.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_credentials(endpoint: &str, credentials: SharedCredentialsProvider) -> Self {
        let config = aws_sdk_bedrockruntime::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(credentials)
            .http_client(http_client())
            .retry_config(RetryConfig::disabled())
            .endpoint_url(endpoint)
            .build();
        Self { access: Access::default(), client: OnceCell::new_with(Some(Client::from_conf(config))) }
    }

    /// Runs a call of the client, without a `tracing` subscriber.
    ///
    /// # Errors
    /// [`NoRegion`], before the call.
    pub async fn call<T, F: Future<Output = T>>(&self, call: impl FnOnce(Client) -> F) -> Result<T, NoRegion> {
        let log = tracing::dispatcher::get_default(Dispatch::clone);
        let silent = NoSubscriber::default;
        let client = self.client.get_or_try_init(|| self.connect(log)).with_subscriber(silent()).await?;
        Ok(call(client.clone()).with_subscriber(silent()).await)
    }

    /// Creates the client. Its requests report to `log` which proxy they use.
    async fn connect(&self, log: Dispatch) -> Result<Client, NoRegion> {
        let Access { region, api_key, endpoint, plain_http } = &self.access;
        // The caller limits the time of a call.
        let times = TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http_client())
            .retry_config(RetryConfig::disabled())
            .timeout_config(times);
        if let Some(region) = region {
            loader = loader.region(Region::new(region.clone()));
        }
        let found = loader.load().await;
        if found.region().is_none() {
            return Err(NoRegion);
        }
        let mut config =
            aws_sdk_bedrockruntime::config::Builder::from(&found).interceptor(Guard { plain_http: *plain_http, log });
        if let Some(credentials) = found.credentials_provider() {
            config = config.credentials_provider(registered(credentials));
        }
        if let Some(key) = api_key {
            // Takes precedence over the credentials chain.
            config = config
                .bearer_token(Token::new(key.expose(), None))
                .auth_scheme_preference([HTTP_BEARER_AUTH_SCHEME_ID]);
        }
        if let Some(endpoint) = endpoint {
            config = config.endpoint_url(endpoint);
        }
        Ok(Client::from_conf(config.build()))
    }
}

/// The same credentials, registered with the redactor when they are loaded.
#[must_use]
pub fn registered(credentials: SharedCredentialsProvider) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(RegisteredCredentials(credentials))
}

/// True if a call failed for lack of credentials.
#[must_use]
pub fn lacks_credentials(error: &(dyn Error + 'static)) -> bool {
    // Another error type may hide the SDK's own, which then shows only in the text.
    causes(error).any(|error| error.is::<CredentialsError>() || error.to_string().contains("credentials"))
}

/// The SDK's client with ring for cryptography, because the default, aws-lc-rs, takes minutes to build.
fn http_client() -> SharedHttpClient {
    Builder::new().build_with_connector_fn(|settings, components| {
        let mut connector = ConnectorBuilder::default()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .proxy_config(ProxyConfig::from_env());
        connector.set_connector_settings(settings.cloned());
        if let Some(components) = components {
            connector.set_sleep_impl(components.sleep_impl());
        }
        connector.build()
    })
}
