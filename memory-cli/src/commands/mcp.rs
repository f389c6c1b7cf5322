//! `memory mcp`: tools of the memory for models, over the Model Context Protocol.

use std::{
    env,
    net::{IpAddr, SocketAddr},
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    thread,
};

use anyhow::Context as _;
use clap::{Args as ClapArgs, ValueEnum};
use memory_files::Links;
use memory_mcp::{
    HttpError, HttpOptions, HttpServer, Options, Origin, Profile, Server, Token, serve_stdio, until_signal,
};

use crate::{Access, failure::Usage, globals::Globals, terminal::To};

/// The environment variable with the token, which lists of processes do not show.
const TOKEN_VARIABLE: &str = "MEMORY_MCP_TOKEN";
/// Most bytes of a file with a token.
const MOST_TOKEN_BYTES: u64 = 8_192;

/// Serves the memory to models as tools, over the Model Context Protocol (MCP).
///
/// Without --http it serves one client on standard input and output, as clients start it. docs/mcp.md describes the
/// tools and how clients are configured.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// How much is said of each tool: clients pay for it in every prompt
    #[arg(long, value_enum, default_value_t = ProfileName::Compact)]
    profile: ProfileName,
    /// The conversation of calls that name none: `last`, its id or the beginning of it, or its title
    #[arg(short, long, value_name = "CONVERSATION")]
    conversation: Option<String>,
    /// Also offer what writes: the scratchpad, --allow-append and --allow-correct
    #[arg(long)]
    allow_writes: bool,
    /// Also offer a tool that appends messages to conversations
    #[arg(long)]
    allow_append: bool,
    /// Keep everything in memory: nothing of this session reaches a file, and it begins with no conversation
    #[arg(long)]
    no_persist: bool,
    /// Also offer tools that disable messages and erase them for good
    #[arg(long)]
    allow_erase: bool,
    /// Also offer a tool that corrects what is known, by words that messages say
    #[arg(long)]
    allow_correct: bool,
    /// Also offer the file-style memory tool that Anthropic's models know
    #[arg(long)]
    memory_tool: bool,
    /// True to offer tools at all, next to resources and the prompt
    #[arg(long, value_name = "true|false", env = "MEMORY_ENABLE_MCP_TOOLS", hide_env_values = true)]
    #[arg(default_value_t = true, action = clap::ArgAction::Set)]
    enable_mcp_tools: bool,
    /// Serve clients by streamable HTTP, under /mcp
    #[arg(long)]
    http: bool,
    /// The address to listen at
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", requires = "http")]
    listen: IpAddr,
    /// The port to listen at; 0 for any that is free
    #[arg(long, default_value_t = HttpOptions::PORT, requires = "http")]
    port: u16,
    /// A file with the bearer token of requests [default: that of MEMORY_MCP_TOKEN, or a new one, which is printed]
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Ask for no token, which lets every program of this machine read the memory
    #[arg(long, requires = "http")]
    no_token: bool,
    /// A web page that may send requests, as in https://app.example:443; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<Origin>,
    /// A name under which clients ask for this server; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Most requests a second, of all clients together
    #[arg(long, value_name = "N", default_value = "200", requires = "http")]
    max_rate: NonZeroU32,
    /// Most megabytes of a request
    #[arg(long, value_name = "MB", default_value = "4")]
    max_body: NonZeroUsize,
}

/// A profile on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    /// Whole descriptions, with schemas of what comes back
    Full,
    /// Short descriptions: at most 2,500 tokens for all tools
    Compact,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let options = Options::default()
        .profile(match args.profile {
            ProfileName::Full => Profile::Full,
            ProfileName::Compact => Profile::Compact,
        })
        .append(args.allow_append || args.allow_writes)
        .erase(args.allow_erase)
        .correct(args.allow_correct || args.allow_writes)
        .memory_tool(args.memory_tool)
        .scratchpad(args.allow_writes);
    let (max_request, conversation) = (args.max_request(), args.conversation.clone());
    let http = if args.http { Some(args.http_options()?) } else { None };
    // A client may be configured before the first message, so a missing store is created. One without writes is read.
    let config = match args.no_persist {
        true => globals.config_at(PathBuf::new(), Access::Memory).in_memory(),
        false => {
            let store = globals.store()?;
            let access = if store.join("FORMAT").exists() { Access::Update } else { Access::Write };
            globals.config_at(store, access)
        }
    };
    let config = config.enable_mcp_tools(args.enable_mcp_tools);
    // The runtime of commands has one thread, and no input or output.
    let serving = thread::spawn(move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let served = runtime.block_on(async {
            let memory = memory::Builder::of(config).open()?;
            let server = Server::new(memory, options)?.with_default(conversation);
            match http {
                None => Ok(serve_stdio(server, max_request).await?),
                Some(options) => serve_http(server, options).await,
            }
        });
        // A read of standard input cannot be cancelled, so it is not awaited.
        runtime.shutdown_background();
        served
    });
    serving.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the server panicked")))
}

async fn serve_http(server: Server, options: HttpOptions) -> anyhow::Result<()> {
    let bound = HttpServer::bind(server, options).await;
    let server = bound.map_err(|error| match error {
        HttpError::Open(_) => anyhow::Error::new(Usage(format!("{error}: leave out --no-token"))),
        error => error.into(),
    })?;
    let ended = until_signal();
    To::Errors.line(&format!("serving {}", server.url()))?;
    server.serve(ended).await;
    Ok(())
}

impl Args {
    fn http_options(&self) -> anyhow::Result<HttpOptions> {
        Ok(HttpOptions::new(self.token()?)
            .listen(SocketAddr::new(self.listen, self.port))
            .origins(self.allow_origin.clone())
            .hosts(self.allow_host.clone())
            .per_second(self.max_rate)
            .max_body(self.max_request()))
    }

    /// The most bytes of a request.
    fn max_request(&self) -> usize {
        self.max_body.get().saturating_mul(1 << 20)
    }

    /// The token of requests. A new token is printed on standard error.
    fn token(&self) -> anyhow::Result<Option<Token>> {
        if self.no_token {
            return Ok(None);
        }
        let given = match (&self.token_file, env::var(TOKEN_VARIABLE)) {
            (Some(file), _) => Some((file.display().to_string(), from_file(file)?)),
            (None, Ok(token)) => Some((TOKEN_VARIABLE.to_owned(), token)),
            (None, Err(_)) => None,
        };
        if let Some((from, token)) = given {
            let token = Token::new(token.trim()).map_err(|error| Usage(format!("{from}: {error}")))?;
            return Ok(Some(token));
        }
        let (token, text) = Token::generate().context("no randomness for a token")?;
        To::Errors.line(&format!("token {text}"))?;
        Ok(Some(token))
    }
}

fn from_file(file: &Path) -> anyhow::Result<String> {
    let read = memory_files::read_to_string(file, Links::Follow, MOST_TOKEN_BYTES);
    let read = read.with_context(|| format!("cannot read the token in {}", file.display()))?;
    if memory_files::is_readable_by_others(file) {
        let file = file.display();
        To::Errors.line(&format!("warning: other users of this machine can read the token: chmod 600 {file}"))?;
    }
    Ok(read)
}
