// `node --test`; MEMORY_BINARY names the binary.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { BudgetTooSmall, InvalidRequest, Memory, MemoryClosed, NotFound } from "../index.mjs";

const directory = mkdtempSync(join(tmpdir(), "memory-client-"));
test.after(() => rmSync(directory, { recursive: true }));
const store = join(directory, "store");
const open = (options = {}) => new Memory(store, { conversation: "trip", wordsOnly: true, ...options });

test("a conversation is kept, found, shown and erased", async (t) => {
  const memory = open();
  t.after(() => memory.close());
  const said = [
    memory.append("user", "The locker at the harbour is QX-4471.", { name: "Ann", timestamp: "2026-03-01T10:00:00+01:00", key: "a" }),
    memory.append("assistant", "Noted.", { metadata: { model: "m" } }),
    memory.append({ role: "user", content: [{ type: "text", text: "We decided to take the night train." }] }),
  ];
  assert.deepEqual((await Promise.all(said)).map(({ node, new: isNew }) => [node, isNew]), [[1, true], [2, true], [3, true]]);
  const { hits } = await memory.search("Which locker is it?", { topK: 1, radius: 1 });
  assert.deepEqual([hits[0].node, hits[0].speaker, hits[0].at, hits[0].after.length], [1, "Ann", "2026-03-01T09:00:00Z", 1]);
  const { prompt, request } = await memory.context("Which locker is it?", { budget: 1000, instructions: "Be brief." });
  assert.match(prompt.text, /QX-4471/);
  assert.equal(request.system, "Be brief.");
  assert.match(JSON.stringify(request.messages), /QX-4471/);
  assert.match((await memory.resume()).text, /night train/);
  assert.equal((await memory.facts())[0].kind, "decision");
  assert.equal((await memory.conversations()).conversations[0].conversation, "trip");
  const last = await memory.messages([2, 3], { limit: 1 });
  assert.deepEqual([last.total, last.shown, last.next, last.messages[0].text], [3, [2, 2], 3, "Noted."]);
  assert.ok(await memory.erase({ nodes: [2] }, { by: "a test" }));
  assert.equal(await memory.erase({ nodes: [2] }), null);
  assert.ok(await memory.forget());
});

test("errors are of their kind, and the next request is answered", async (t) => {
  const memory = open();
  t.after(() => memory.close());
  await memory.append("user", "Hello.");
  await assert.rejects(memory.messages(undefined, { conversation: "nowhere" }), NotFound);
  await assert.rejects(memory.append("someone", "Hello."), InvalidRequest);
  await assert.rejects(memory.context("Hello?", { budget: 1 }), BudgetTooSmall);
  await assert.rejects(new Memory(store).append("user", "Hello."), TypeError);
  await assert.rejects(open({ binary: join(directory, "none") }).conversations(), MemoryClosed);
  await assert.rejects(open({ args: ["--no-such-option"] }).conversations(), MemoryClosed);
  assert.equal((await memory.messages()).total > 0, true);
});

test("a program that closes nothing ends, and what it appended is there", async (t) => {
  const program = `import { Memory } from ${JSON.stringify(new URL("../index.mjs", import.meta.url).href)};
    await new Memory(${JSON.stringify(store)}, { conversation: "left", wordsOnly: true }).append("user", "Kept.");`;
  const done = spawnSync(process.execPath, ["--input-type=module", "-e", program], { timeout: 60_000 });
  assert.equal(done.status, 0, String(done.stderr));
  const memory = open();
  t.after(() => memory.close());
  assert.equal((await memory.messages(undefined, { conversation: "left" })).messages[0].text, "Kept.");
});
