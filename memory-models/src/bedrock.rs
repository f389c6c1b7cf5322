//! Chat models of Amazon Bedrock.

mod reply;
mod request;

use std::{error::Error, fmt, sync::Arc, time::Duration};

use aws_sdk_bedrockruntime::{
    config::{ConfigBag, Intercept, RuntimeComponents},
    error::{ProvideErrorMetadata, SdkError},
};
use aws_smithy_runtime_api::{box_error::BoxError, client::interceptors::context::BeforeTransmitInterceptorContextMut};
use aws_smithy_types::body::SdkBody;
use memory_core::port::{ChatReply, ChatRequest};
use memory_remote::{
    bedrock::{Access, Connection, HOW_CREDENTIALS, NoRegion, NotSent, lacks_credentials},
    causes, retry_after, with_causes,
};

use self::{reply::Partial, request::body};
use crate::{
    ChatOptions, ModelError,
    failure::{Failure, Refusal, Target},
    service::{Parts, Protocol, Service, chat_model},
};

const WINDOW: u32 = 200_000;

/// A chat model of Amazon Bedrock, by the Converse API.
///
/// Replies are always streamed, because only a stream has the arguments of a call as the model wrote them; the caller
/// needs the permission `bedrock:InvokeModelWithResponseStream`. The breakpoints of a request become `cachePoint`. Works
/// under any async runtime or none. Sends nothing before the first request.
#[derive(Debug)]
pub struct BedrockChat {
    service: Service<Bedrock>,
}

impl BedrockChat {
    /// The model with this id, or the one that an inference profile with this id or ARN selects.
    ///
    /// # Errors
    /// [`ModelError::Setup`] for invalid options.
    pub fn new(id: &str, options: ChatOptions) -> Result<Self, ModelError> {
        let ChatOptions { region, api_key, base, plain_http, window, .. } = options.clone();
        let target = Arc::new(Target::new(id.to_owned(), window.unwrap_or(WINDOW)));
        let connection = Connection::new(Access::new(region, api_key, base, plain_http));
        let protocol = Bedrock { target: Arc::clone(&target), connection, options: options.clone() };
        Ok(Self { service: Service::start(protocol, target, options)? })
    }
}

chat_model!(BedrockChat);

struct Bedrock {
    target: Arc<Target>,
    connection: Connection,
    options: ChatOptions,
}

impl Protocol for Bedrock {
    async fn attempt(&self, request: &ChatRequest, parts: Option<&Parts>) -> Result<ChatReply, Failure> {
        let Self { target, connection, options } = self;
        let most = request.max_reply_tokens.or(options.max_reply_tokens);
        let body = Body(body(request, &target.name, most, &options.extra).to_string());
        let late = |_| target.failed(ModelError::TimedOut { after: options.timeout });
        let asked = connection.call(|client| async move {
            let sent = client.converse_stream().model_id(&target.name).customize().interceptor(body).send();
            let sent = tokio::time::timeout(options.timeout, sent).await.map_err(late)?;
            let mut stream = sent.map_err(|error| {
                let answer = error.raw_response().map(|response| Answer {
                    status: response.status().as_u16(),
                    retry_after: response.headers().get("retry-after").and_then(retry_after),
                    body: response.body().bytes().unwrap_or_default().to_vec(),
                });
                failure(target, &error, answer)
            })?;
            let mut partial = Partial::default();
            loop {
                let event = tokio::time::timeout(options.timeout, stream.stream.recv()).await.map_err(late)?;
                match event.map_err(|error| failure(target, &error, None))? {
                    Some(event) => partial.add(event, parts),
                    None => return partial.reply(target),
                }
            }
        });
        let no_region = |error: NoRegion| target.failed(ModelError::Setup { what: format!("{error}") });
        asked.await.map_err(no_region)?
    }
}

/// Body of a request as text, because the SDK orders JSON members at random, which defeats prompt caches.
struct Body(String);

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}

impl Intercept for Body {
    fn name(&self) -> &'static str {
        "MemoryModelsBody"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        request.headers_mut().insert("content-length", self.0.len().to_string());
        *request.body_mut() = SdkBody::from(self.0.clone());
        Ok(())
    }
}

/// An answer that is an error.
#[derive(Default)]
struct Answer {
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// Failure for an error of the SDK. `answer` is the HTTP answer; an error in the middle of a stream has none.
fn failure<E, R>(target: &Target, error: &SdkError<E, R>, answer: Option<Answer>) -> Failure
where
    E: ProvideErrorMetadata + Error + 'static,
    R: fmt::Debug + 'static,
{
    if let Some(NotSent(what)) = causes(error).find_map(|error| error.downcast_ref()) {
        return target.failed(ModelError::Setup { what: what.clone() });
    }
    match error {
        SdkError::ServiceError(service) => {
            let service = service.err();
            let code = service.code().unwrap_or_default();
            let message = service.message().unwrap_or_default();
            // The message in the middle of a stream has no status.
            let Answer { status, retry_after, body } = answer.unwrap_or_default();
            if code.is_empty() && message.is_empty() && status > 0 {
                // A gateway answers in another form.
                return target.classify_body(status, retry_after, &body);
            }
            let status = status_of(code).unwrap_or(status);
            target.classify(Refusal { status, codes: ["", code], message, retry_after, ..Refusal::default() })
        }
        SdkError::ResponseError(_) => target.failed(ModelError::Malformed { what: with_causes(error) }),
        SdkError::ConstructionFailure(_) => target.failed(ModelError::Setup { what: with_causes(error) }),
        _ if lacks_credentials(error) => {
            let message = format!("{HOW_CREDENTIALS} ({})", with_causes(error));
            target.classify(Refusal { status: 401, message: &message, ..Refusal::default() })
        }
        _ => target.failed(ModelError::NoAnswer { detail: with_causes(error) }),
    }
}

/// Status that the code of an error stands for.
fn status_of(code: &str) -> Option<u16> {
    Some(match code {
        "ThrottlingException" | "TooManyRequestsException" | "ServiceQuotaExceededException" => 429,
        "InternalServerException"
        | "ServiceUnavailableException"
        | "ModelTimeoutException"
        | "ModelNotReadyException"
        | "ModelErrorException"
        | "ModelStreamErrorException" => 503,
        "ExpiredTokenException"
        | "ExpiredToken"
        | "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException" => 401,
        "AccessDeniedException" => 403,
        "ResourceNotFoundException" => 404,
        "ValidationException" => 400,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
