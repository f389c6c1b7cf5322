// A client of `memory bridge --stdio`: one JSON request a line, one answer a line, in order.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A request that was answered by an error. */
export class MemoryError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}
/** There is no such conversation, message or entry. */
export class NotFound extends MemoryError {}
/** A member of the request is not one that the binary takes. */
export class InvalidRequest extends MemoryError {}
/** Nothing fits the budget. */
export class BudgetTooSmall extends MemoryError {}
/** The process ended before it answered. The next request starts another one. */
export class MemoryClosed extends MemoryError {}

const KINDS = {
  not_found: NotFound,
  malformed: InvalidRequest,
  invalid_config: InvalidRequest,
  invalid_message: InvalidRequest,
  invalid_pattern: InvalidRequest,
  budget_too_small: BudgetTooSmall,
  question_too_long: BudgetTooSmall,
};

export class Memory {
  #command;
  #process;

  constructor(store, options = {}) {
    const { conversation, model, wordsOnly, owner, binary, persist = true, args = [] } = options;
    this.conversation = conversation;
    this.#command = [
      binary ?? process.env.MEMORY_BINARY ?? "memory",
      "bridge",
      "--stdio",
      ...(store === undefined ? [] : [`--store=${store}`]),
      ...(model === undefined ? [] : [`--embedding-model=${model}`]),
      ...(wordsOnly ? ["--words-only"] : []),
      ...(owner === undefined ? [] : [`--owner=${owner}`]),
      ...(persist ? [] : ["--no-persist"]),
      ...args,
    ];
  }

  async append(role, text, options = {}) {
    const { conversation, name, timestamp, metadata, key } = options;
    const message = typeof role === "string" ? { role, content: text ?? "" } : role;
    return this.call("append", {
      conversation: this.#named(conversation),
      message: defined({ ...message, ...defined({ speaker: name, metadata, key }) }),
      at: timestamp instanceof Date ? timestamp.toISOString() : timestamp,
    });
  }

  async search(question, options = {}) {
    const { conversation, everywhere, topK, minScore, radius } = options;
    return this.call("search", {
      question,
      conversation: everywhere ? undefined : (conversation ?? this.conversation),
      limit: topK,
      min_relevance: minScore,
      neighbours: radius,
    });
  }

  async context(question, options = {}) {
    const { conversation, budget, radius, instructions, model, followMentions } = options;
    const what = { question, budget, radius, instructions, model, follow_mentions: followMentions };
    return this.call("context", { conversation: this.#named(conversation), ...what });
  }

  async resume(options = {}) {
    return this.call("reminder", { conversation: this.#named(options.conversation), budget: options.budget });
  }

  async facts(question, options = {}) {
    const { conversation = this.conversation, kinds, all } = options;
    return (await this.call("facts", { conversation, question, kinds, all })).entries;
  }

  async conversations(options = {}) {
    const { limit, skip, tags, archived } = options;
    return this.call("conversations", { limit, skip, tags, archived });
  }

  async messages(nodes, options = {}) {
    return this.call("messages", { conversation: this.#named(options.conversation), nodes, limit: options.limit });
  }

  async erase(what, options = {}) {
    const { conversation, by } = options;
    return (await this.call("erase", { what: { conversation: this.#named(conversation), ...what }, by })).receipt ?? null;
  }

  async forget(conversation, options = {}) {
    return this.erase({ all: true }, { conversation, ...options });
  }

  /** Sends any request of the protocol (docs/strands.md), and returns its answer. */
  call(op, request = {}) {
    const running = (this.#process ??= this.#start());
    return new Promise((resolve, reject) => {
      running.waiting.push({ resolve, reject });
      hold(running.child, true);
      running.child.stdin.write(`${JSON.stringify({ op, ...defined(request) })}\n`);
    });
  }

  /** Ends the process, which first answers and writes to disk what it derived. */
  async close() {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) return;
    hold(running.child, true);
    running.child.stdin.end();
    await running.ended;
  }

  #named(conversation = this.conversation) {
    if (conversation === undefined) {
      throw new TypeError("no conversation: name one for the call, or for the Memory by { conversation }");
    }
    return conversation;
  }

  #start() {
    const [binary, ...args] = this.#command;
    const child = spawn(binary, args, { stdio: ["pipe", "pipe", "inherit"] });
    const running = { child, waiting: [], ended: undefined };
    createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
      const { resolve, reject } = running.waiting.shift() ?? {};
      if (running.waiting.length === 0) hold(child, false);
      const answer = JSON.parse(line);
      if (answer.error === undefined) resolve?.(answer);
      else reject?.(new (KINDS[answer.error] ?? MemoryError)(answer.error, answer.message));
    });
    running.ended = new Promise((resolve) => {
      const end = (error) => {
        if (this.#process === running) this.#process = undefined;
        for (const { reject } of running.waiting.splice(0)) reject(error);
        resolve();
      };
      child.stdin.on("error", () => {});
      child.on("error", (cause) => end(new MemoryClosed("no_binary", `\`${binary}\` did not start: put it on the path, or name it by MEMORY_BINARY`, { cause })));
      child.on("close", () => end(new MemoryClosed("closed", `\`${binary}\` ended before it answered`)));
    });
    return running;
  }
}

/** Keeps the program running while an answer is awaited, and only then. */
function hold(child, isAwaited) {
  for (const handle of [child, child.stdin, child.stdout]) handle[isAwaited ? "ref" : "unref"]?.();
}

/** The members that have a value. */
function defined(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}
