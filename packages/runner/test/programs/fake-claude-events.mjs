// What the stand-ins for `claude` print. Written synchronously: what is printed is in the file, whatever comes next.
import { writeSync } from 'node:fs'

export const SESSION = '5e551011-0000-4000-8000-000000000000'

export function print(event) {
  printText(`${typeof event === 'string' ? event : JSON.stringify(event)}\n`)
}

export function printText(text) {
  for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(1, bytes))
}

export function init(fields = {}) {
  const facts = { model: 'fake-model-1', tools: ['Bash'], claude_code_version: '9.9.9', cwd: process.cwd() }
  return { type: 'system', subtype: 'init', session_id: SESSION, ...facts, ...fields }
}

export function said(text) {
  const message = { id: 'msg_1', role: 'assistant', model: 'fake-model-1', content: [{ type: 'text', text }] }
  return { type: 'assistant', message, parent_tool_use_id: null, session_id: SESSION, uuid: 'u1' }
}

export function result(text, fields = {}) {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: text,
    num_turns: 1,
    duration_ms: 5,
    total_cost_usd: 0.25,
    usage: { input_tokens: 10, output_tokens: 5 },
    permission_denials: [],
    session_id: SESSION,
    ...fields,
  }
}

/** Answers `--version` and goes no further; a real one does that too. */
export function answerVersion() {
  if (!process.argv.includes('--version')) return
  printText('9.9.9 (Claude Code)\n')
  process.exit(0)
}

/** The arguments that the test itself gave, before those of the harness. */
export function testArguments() {
  const end = process.argv.indexOf('-p')
  return process.argv.slice(2, end === -1 ? undefined : end)
}
