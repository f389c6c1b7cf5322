/** Numbers of the first and the last message, both included. */
export type Run = [first: number, last: number];
export type Role = "user" | "assistant" | "system" | "tool";
/** A message as docs/format.md describes messages in JSON. */
export interface Message {
  role: Role;
  content: string | Record<string, unknown>[];
  speaker?: string;
  key?: string;
  metadata?: Record<string, unknown>;
}

// Answers are those of the commands with `--json` (docs/json.md). Members that are not named here are there too.

export interface Notice { code: string; text: string; [member: string]: unknown }
export interface Appended { conversation: string; node: number; new: boolean; nodes: number }
export interface Brief { node: number; speaker: string; at: string | null; text: string }
export interface Hit extends Brief {
  conversation: string;
  /** The probability that the message bears on the question. */
  relevance: number | null;
  score: { value: number; scale: string };
  excerpt: { start: number; end: number; text: string };
  before: Brief[];
  after: Brief[];
}
export interface Found { question: string; hits: Hit[]; notices: Notice[] }
export interface Prompt {
  conversation: string;
  question: string;
  text: string;
  tokens: number;
  budget: number;
  full_tokens: number;
  pieces: Record<string, unknown>[];
  notices: Notice[];
}
export interface ChatRequest {
  system: string | null;
  messages: Message[];
  breakpoints: { message: number; block: number }[];
}
export interface Context { prompt: Prompt; request: ChatRequest }
export interface Reminder { conversation: string; text: string; tokens: number; budget: number; nodes: number[]; state: Record<string, unknown> }
export interface Entry { conversation: string; id: string; kind: string; text: string; status: string; by: string; sources: Run[] }
export interface Listing { conversations: Record<string, unknown>[]; more: number; archived: number }
export interface Detail extends Brief { conversation: string; message: Message }
export interface Messages { conversation: string; total: number; shown: Run; next: number | null; messages: Detail[]; lost: Run[] }

export interface MemoryOptions {
  /** The conversation of requests that name none. */
  conversation?: string;
  /** The embedding model, by name or directory; by default the store's own. */
  model?: string;
  /** Recall by words, without a model. */
  wordsOnly?: boolean;
  /** The owner whose conversations alone are there. */
  owner?: string;
  /** The `memory` binary; by default the one that MEMORY_BINARY names, or `memory` on the path. */
  binary?: string;
  /** With `false` everything stays in the memory of the process. */
  persist?: boolean;
  /** More options of the binary. */
  args?: string[];
}
type Of = { conversation?: string };

/** The conversations of a store, served by a process of the `memory` binary that ends with `close`, or with the program. */
export declare class Memory {
  /** `store` is a directory, made if it is not there; by default this user's. */
  constructor(store?: string, options?: MemoryOptions);
  conversation: string | undefined;
  /** Appends a message, which is on disk when the promise resolves. Under a `key` that is there it is not appended again. */
  append(role: Role, text: string, options?: Of & { name?: string; timestamp?: string | Date; metadata?: Record<string, unknown>; key?: string }): Promise<Appended>;
  append(message: Message, text?: undefined, options?: Of & { timestamp?: string | Date }): Promise<Appended>;
  /** The messages that bear on a question, best first, of the conversation, or of all where none is named or `everywhere`. */
  search(question: string, options?: Of & { everywhere?: boolean; topK?: number; minScore?: number; radius?: number }): Promise<Found>;
  /** What a model is shown within `budget` tokens, as text (`prompt.text`) and as messages (`request`). */
  context(question?: string, options?: Of & { budget?: number; radius?: number; instructions?: string; model?: string; followMentions?: boolean }): Promise<Context>;
  /** Where a conversation stood: goal, decisions, open questions, the last exchange. */
  resume(options?: Of & { budget?: number }): Promise<Reminder>;
  /** What is known in the conversation, or in all where none is named. */
  facts(question?: string, options?: Of & { kinds?: string[]; all?: boolean }): Promise<Entry[]>;
  conversations(options?: { limit?: number; skip?: number; tags?: string[]; archived?: boolean }): Promise<Listing>;
  /** The messages of a run verbatim, or the last ones. */
  messages(nodes?: Run, options?: Of & { limit?: number }): Promise<Messages>;
  /** Erases messages for good, and returns the receipt; null where there was nothing. */
  erase(what: { nodes: (number | Run)[] } | { matching: string } | { all: true }, options?: Of & { by?: string }): Promise<Record<string, unknown> | null>;
  /** Erases a whole conversation for good. */
  forget(conversation?: string, options?: { by?: string }): Promise<Record<string, unknown> | null>;
  /** Sends any request of the protocol, and returns its answer. */
  call(op: string, request?: Record<string, unknown>): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** A request that was answered by an error, of which `code` is the kind. */
export declare class MemoryError extends Error { code: string }
export declare class NotFound extends MemoryError {}
export declare class InvalidRequest extends MemoryError {}
export declare class BudgetTooSmall extends MemoryError {}
export declare class MemoryClosed extends MemoryError {}
