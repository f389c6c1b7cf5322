//! Maps SDK errors to [`RemoteError`].

use std::error::Error;

use aws_sdk_bedrockruntime::{
    error::{ProvideErrorMetadata, SdkError},
    operation::invoke_model::InvokeModelError,
};
use memory_remote::{
    bedrock::{HOW_CREDENTIALS, NotSent, lacks_credentials},
    causes, excerpt, with_causes,
};

use crate::remote::RemoteError;

/// Converts the error of a call, as of a first attempt.
pub(super) fn remote_error<R>(error: &SdkError<InvokeModelError, R>, status: Option<u16>) -> RemoteError
where
    R: std::fmt::Debug,
    SdkError<InvokeModelError, R>: Error + 'static,
{
    if let Some(NotSent(what)) = causes(error).find_map(|error| error.downcast_ref()) {
        return RemoteError::Setup { what: what.clone() };
    }
    match error {
        SdkError::ServiceError(service) => {
            let service = service.err();
            let message = service.message().unwrap_or_default();
            refusal(service.code().unwrap_or_default(), message, status.unwrap_or(0))
        }
        SdkError::ResponseError(_) => RemoteError::Malformed { what: with_causes(error) },
        SdkError::ConstructionFailure(_) => RemoteError::Setup { what: with_causes(error) },
        _ if lacks_credentials(error) => RemoteError::Credentials { how: HOW_CREDENTIALS, detail: with_causes(error) },
        _ => RemoteError::NoAnswer { attempts: 1, detail: with_causes(error) },
    }
}

/// Classifies an error response by its code, its message and its HTTP status.
fn refusal(code: &str, message: &str, status: u16) -> RemoteError {
    let mentions = |words: &[&str]| {
        let message = message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    };
    let detail = excerpt(&match code {
        "" => format!("status {status} {message}"),
        code => format!("{code}: {message}"),
    });
    match code {
        "ThrottlingException" | "TooManyRequestsException" | "ServiceQuotaExceededException" => {
            RemoteError::Throttled { attempts: 1, detail }
        }
        "InternalServerException"
        | "ServiceUnavailableException"
        | "ModelTimeoutException"
        | "ModelNotReadyException"
        | "ModelErrorException" => RemoteError::Failed { attempts: 1, detail },
        "ExpiredTokenException"
        | "ExpiredToken"
        | "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException" => RemoteError::Credentials { how: HOW_CREDENTIALS, detail },
        "AccessDeniedException" if mentions(&["api key", "bearer token", "authentication failed"]) => {
            RemoteError::Credentials { how: HOW_CREDENTIALS, detail }
        }
        "AccessDeniedException" => RemoteError::NoAccess { detail },
        "ResourceNotFoundException" => RemoteError::UnknownModel { detail },
        "ValidationException" if mentions(&["model identifier", "model id"]) => RemoteError::UnknownModel { detail },
        "ValidationException"
            if mentions(&["too many input tokens", "too long", "maxlength", "max length", "maximum"]) =>
        {
            RemoteError::TooLong { detail }
        }
        _ => match status {
            401 => RemoteError::Credentials { how: HOW_CREDENTIALS, detail },
            403 => RemoteError::NoAccess { detail },
            404 => RemoteError::UnknownModel { detail },
            429 => RemoteError::Throttled { attempts: 1, detail },
            500.. => RemoteError::Failed { attempts: 1, detail },
            _ => RemoteError::Refused { detail },
        },
    }
}
