//! Hooks, registered by event type.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use super::{BoxError, BoxFuture};

/// An event that is passed to hooks.
pub trait HookEvent: Send + 'static {
    /// True for events that close something: their hooks run in reverse order, so that hooks nest.
    const REVERSED: bool = false;
}

/// A hook for events of type `E`.
pub trait Hook<E: HookEvent>: Send + Sync {
    /// Name of the hook, for errors.
    fn name(&self) -> &str;

    /// Handles the event, which it may change. After an error, later hooks are not called.
    fn call<'a>(&'a self, event: &'a mut E) -> BoxFuture<'a, Result<(), BoxError>>;
}

/// The failure of a hook.
#[derive(Debug, thiserror::Error)]
#[error("hook `{hook}` failed")]
pub struct HookError {
    /// Name of the hook.
    pub hook: String,
    /// The cause.
    #[source]
    pub source: BoxError,
}

/// Registers several hooks at once, as a conversation manager does.
pub trait HookProvider {
    /// Registers the hooks.
    fn register(self: Arc<Self>, registry: &mut HookRegistry);
}

/// Hooks by event type, in order of registration.
#[derive(Clone, Default)]
pub struct HookRegistry {
    hooks: HashMap<TypeId, Vec<Arc<dyn Any + Send + Sync>>>,
}

/// Value stored for an event type: the hook behind a sized type, so that it can be downcast.
struct Registered<E: HookEvent>(Arc<dyn Hook<E>>);

struct Listener<F>(&'static str, F);

impl<E: HookEvent, F: Fn(&E) + Send + Sync> Hook<E> for Listener<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn call<'a>(&'a self, event: &'a mut E) -> BoxFuture<'a, Result<(), BoxError>> {
        (self.1)(event);
        Box::pin(async { Ok(()) })
    }
}

impl HookRegistry {
    /// A registry without hooks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hook after the existing ones.
    pub fn add<E: HookEvent>(&mut self, hook: Arc<dyn Hook<E>>) {
        self.hooks.entry(TypeId::of::<E>()).or_default().push(Arc::new(Registered(hook)));
    }

    /// Adds a function that only observes events.
    pub fn listen<E: HookEvent>(&mut self, name: &'static str, listener: impl Fn(&E) + Send + Sync + 'static) {
        self.add::<E>(Arc::new(Listener(name, listener)));
    }

    /// Adds all hooks of a provider.
    pub fn provide<P: HookProvider>(&mut self, provider: Arc<P>) {
        provider.register(self);
    }

    /// Calls the hooks of an event in order.
    ///
    /// # Errors
    /// The error of the first hook that fails; later hooks are not called.
    pub async fn dispatch<E: HookEvent>(&self, event: &mut E) -> Result<(), HookError> {
        for Registered(hook) in self.of::<E>() {
            let called = hook.call(event).await;
            called.map_err(|source| HookError { hook: hook.name().to_owned(), source })?;
        }
        Ok(())
    }
}

impl HookRegistry {
    /// Calls all hooks of an informational event, even after failures, and returns the failures.
    pub async fn report<E: HookEvent>(&self, event: &mut E) -> Vec<HookError> {
        let mut failures = Vec::new();
        for Registered(hook) in self.of::<E>() {
            if let Err(source) = hook.call(event).await {
                failures.push(HookError { hook: hook.name().to_owned(), source });
            }
        }
        failures
    }

    /// Hooks of an event, in calling order.
    fn of<E: HookEvent>(&self) -> Vec<&Registered<E>> {
        let hooks = self.hooks.get(&TypeId::of::<E>()).map(Vec::as_slice).unwrap_or_default();
        let mut hooks: Vec<_> = hooks.iter().filter_map(|hook| hook.downcast_ref::<Registered<E>>()).collect();
        if E::REVERSED {
            hooks.reverse();
        }
        hooks
    }
}

impl fmt::Debug for HookRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.hooks.values().map(Vec::len).sum();
        f.debug_struct("HookRegistry").field("hooks", &count).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Opening(Vec<u8>);
    struct Closing;
    impl HookEvent for Opening {}
    impl HookEvent for Closing {
        const REVERSED: bool = true;
    }

    struct Push(u8);
    impl Hook<Opening> for Push {
        fn name(&self) -> &str {
            "push"
        }

        fn call<'a>(&'a self, event: &'a mut Opening) -> BoxFuture<'a, Result<(), BoxError>> {
            Box::pin(async move {
                event.0.push(self.0);
                if self.0 == 9 { Err("nine".into()) } else { Ok(()) }
            })
        }
    }

    #[test]
    fn hooks_run_in_order_and_an_error_stops_them() {
        let mut registry = HookRegistry::new();
        for number in [1, 2, 9, 3] {
            registry.add::<Opening>(Arc::new(Push(number)));
        }
        let mut event = Opening(Vec::new());
        let error = pollster::block_on(registry.dispatch(&mut event)).unwrap_err();
        assert_eq!((event.0, error.to_string()), (vec![1, 2, 9], "hook `push` failed".to_owned()));
    }

    #[test]
    fn a_report_reaches_every_hook_and_returns_what_failed() {
        let mut registry = HookRegistry::new();
        for number in [1, 9, 3] {
            registry.add::<Opening>(Arc::new(Push(number)));
        }
        let mut event = Opening(Vec::new());
        let failures = pollster::block_on(registry.report(&mut event));
        assert_eq!((event.0, failures.len()), (vec![1, 9, 3], 1));
    }

    #[test]
    fn hooks_of_a_closing_event_run_in_reverse() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut registry = HookRegistry::new();
        for number in [1, 2] {
            let seen = Arc::clone(&seen);
            registry.listen::<Closing>("note", move |_| seen.lock().unwrap().push(number));
        }
        pollster::block_on(registry.dispatch(&mut Closing)).unwrap();
        assert_eq!(*seen.lock().unwrap(), [2, 1]);
    }
}
