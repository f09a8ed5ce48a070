// A conversation with Codex, and how each of its voices prints it.
import fc from 'fast-check'
import {
  appError,
  appTurnStarted,
  completed,
  counts,
  error,
  itemCompleted,
  itemStarted,
  type Line,
  message,
  notification,
  reasoning,
  started,
  THREAD,
  textDelta,
  threadStarted,
  tokenUsage,
  turnCompleted,
  turnFailed,
  turnStarted,
  updated,
} from './codex-lines.ts'

export type Step =
  | { kind: 'text'; pieces: string[] }
  | { kind: 'thinking'; parts: string[] }
  | { kind: 'command'; command: string; output: string; exitCode: number | null }
  | { kind: 'patch'; paths: string[]; applied: boolean }
  | { kind: 'mcp'; args: Record<string, string>; reply: string | null }
  | { kind: 'search'; query: string }
  | { kind: 'agent'; prompt: string }
  | { kind: 'todos'; done: boolean[] }
  | { kind: 'warning'; message: string }
  | { kind: 'broken'; lost: string; repeats: string | null }
  | { kind: 'usage'; input: number; output: number }

export interface Turn {
  steps: Step[]
  failure: string | null
}

export function conversation(): fc.Arbitrary<Turn[]> {
  return fc.array(
    fc.record({
      steps: fc.array(step(), { maxLength: 8 }),
      failure: fc.option(fc.constantFrom('unexpected status 401 Unauthorized: x', 'Quota exceeded.', 'odd')),
    }),
    { minLength: 1, maxLength: 3 },
  )
}

function step(): fc.Arbitrary<Step> {
  const words = fc.string({ minLength: 1, maxLength: 8 }).map(text => `${text}.`)
  return fc.oneof(
    fc.record({
      kind: fc.constant('text' as const),
      pieces: fc.array(words, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({
      kind: fc.constant('thinking' as const),
      parts: fc.array(words, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('command' as const),
      command: words,
      output: fc.string(),
      exitCode: fc.constantFrom(0, 1, null),
    }),
    fc.record({
      kind: fc.constant('patch' as const),
      paths: fc.array(words, { minLength: 1, maxLength: 3 }),
      applied: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('mcp' as const),
      args: fc.dictionary(words, fc.string()),
      reply: fc.option(words),
    }),
    fc.record({ kind: fc.constant('search' as const), query: words }),
    fc.record({ kind: fc.constant('agent' as const), prompt: words }),
    fc.record({ kind: fc.constant('todos' as const), done: fc.array(fc.boolean(), { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('warning' as const), message: words }),
    fc.record({ kind: fc.constant('broken' as const), lost: words, repeats: fc.option(words) }),
    fc.record({
      kind: fc.constant('usage' as const),
      input: fc.integer({ min: 1, max: 1000 }),
      output: fc.integer({ min: 1, max: 100 }),
    }),
  )
}

interface Totals {
  input: number
  output: number
}

/** One process a turn, as `exec` and `exec resume` do it. */
export function printExec(turns: readonly Turn[]): Line[][] {
  const total: Totals = { input: 0, output: 0 }
  return turns.map(({ steps, failure }) => {
    const lines: Line[] = [threadStarted(), turnStarted()]
    let todos: Line | null = null
    for (const [index, step] of steps.entries()) {
      const id = `item_${index}`
      if (step.kind === 'usage') addTo(total, step)
      else if (step.kind === 'todos') {
        const first: boolean = todos === null
        todos = { id: 'item_todos', type: 'todo_list', items: step.done.map(todo) }
        lines.push(first ? started(todos) : updated(todos))
      } else lines.push(...execStep(step, id))
    }
    if (todos) lines.push(completed(todos))
    if (failure !== null) return [...lines, error(failure), turnFailed(failure)]
    const usage = { cached_input_tokens: 0, cache_write_input_tokens: 0 }
    return [...lines, turnCompleted({ ...usage, input_tokens: total.input, output_tokens: total.output })]
  })
}

function execStep(step: Exclude<Step, { kind: 'usage' | 'todos' }>, id: string): Line[] {
  switch (step.kind) {
    case 'text':
      return [completed(message(step.pieces.join(''), id))]
    case 'thinking':
      return [completed(reasoning(step.parts.join('\n'), id))]
    case 'warning':
      return [completed({ id, type: 'error', message: step.message })]
    case 'broken':
      return [
        ...(step.repeats === null ? [] : [completed(message(step.repeats, id))]),
        error('Reconnecting... 1/5 (cut)'),
        ...(step.repeats === null ? [] : [completed(message(step.repeats, `${id}b`))]),
      ]
    case 'command': {
      const item = { id, type: 'command_execution', command: step.command }
      const end = { aggregated_output: step.output, exit_code: step.exitCode, status: commandStatus(step) }
      return [
        started({ ...item, aggregated_output: '', exit_code: null, status: 'in_progress' }),
        ...(step.exitCode === null && step.output === '' ? [] : [completed({ ...item, ...end })]),
      ]
    }
    case 'patch': {
      const item = { id, type: 'file_change', changes: step.paths.map(path => ({ path, kind: 'add' })) }
      const status = step.applied ? 'completed' : 'failed'
      return [started({ ...item, status: 'in_progress' }), completed({ ...item, status })]
    }
    case 'mcp': {
      const item = { id, type: 'mcp_tool_call', server: 'srv', tool: 'ping', arguments: step.args }
      return [
        started({ ...item, result: null, error: null, status: 'in_progress' }),
        completed({ ...item, ...mcpEnd(step.reply, 'structured_content') }),
      ]
    }
    case 'search': {
      const item = { id, type: 'web_search' }
      return [
        started({ ...item, query: '', action: { type: 'other' } }),
        completed({ ...item, query: step.query, action: { type: 'open_page', url: step.query } }),
      ]
    }
    case 'agent': {
      const item = { id, type: 'collab_tool_call', tool: 'send_input', prompt: step.prompt }
      const states = { t2: { status: 'pending_init', message: null } }
      return [
        started({ ...item, receiver_thread_ids: [], agents_states: {}, status: 'in_progress' }),
        completed({ ...item, receiver_thread_ids: ['t2'], agents_states: states, status: 'completed' }),
      ]
    }
  }
}

/** One process for all turns. */
export function printApp(turns: readonly Turn[]): Line[] {
  const total: Totals = { input: 0, output: 0 }
  return turns.flatMap(({ steps, failure }, turn) => {
    const turnId = `turn-${turn}`
    const lines: Line[] = [appTurnStarted(turnId)]
    for (const [index, step] of steps.entries()) {
      const id = `call_${index}`
      if (step.kind === 'usage') {
        addTo(total, step)
        lines.push(tokenUsage(counts(total.input, total.output), counts(step.input, step.output)))
      } else if (step.kind === 'todos') {
        const plan = step.done.map(todo).map(({ text, completed }) => ({
          step: text,
          status: completed ? 'completed' : 'pending',
        }))
        lines.push(notification('turn/plan/updated', { explanation: null, plan }))
      } else lines.push(...appStep(step, id))
    }
    const failed = failure === null ? null : { message: failure, codexErrorInfo: 'other' }
    if (failed) lines.push(appError(failed, false))
    const end = { id: turnId, status: failed ? 'failed' : 'completed', error: failed, items: [] }
    return [...lines, notification('turn/completed', { turn: end })]
  })
}

function appStep(step: Exclude<Step, { kind: 'usage' | 'todos' }>, id: string): Line[] {
  switch (step.kind) {
    case 'text':
      return sayText(step.pieces, id)
    case 'thinking': {
      const item = { type: 'reasoning', id, content: [] }
      const delta = (text: string, summaryIndex: number) =>
        notification('item/reasoning/summaryTextDelta', { itemId: id, delta: text, summaryIndex })
      return [
        itemStarted({ ...item, summary: [] }),
        ...step.parts.map(delta),
        itemCompleted({ ...item, summary: step.parts }),
      ]
    }
    case 'warning':
      return [notification('warning', { message: step.message })]
    case 'broken':
      return [
        ...(step.repeats === null ? [] : sayText([step.repeats], id)),
        itemStarted({ type: 'agentMessage', id: `${id}a`, text: '' }),
        textDelta(step.lost, `${id}a`),
        appError({ message: 'Reconnecting... 1/5', additionalDetails: 'cut' }, true),
        ...(step.repeats === null
          ? [itemStarted({ type: 'agentMessage', id: `${id}b`, text: '' })]
          : sayText([step.repeats], `${id}b`)),
      ]
    case 'command': {
      const item = { type: 'commandExecution', id, command: step.command, cwd: '/project' }
      const end = { aggregatedOutput: step.output, exitCode: step.exitCode, durationMs: 1 }
      return [
        itemStarted({ ...item, aggregatedOutput: null, exitCode: null, status: 'inProgress' }),
        notification('item/commandExecution/outputDelta', { itemId: id, delta: 'some' }),
        ...(step.exitCode === null && step.output === ''
          ? []
          : [itemCompleted({ ...item, ...end, status: commandStatus(step) })]),
      ]
    }
    case 'patch': {
      const changes = step.paths.map(path => ({ path, kind: { type: 'add' }, diff: 'x' }))
      const item = { type: 'fileChange', id, changes }
      const status = step.applied ? 'completed' : 'declined'
      return [itemStarted({ ...item, status: 'inProgress' }), itemCompleted({ ...item, status })]
    }
    case 'mcp': {
      const item = { type: 'mcpToolCall', id, server: 'srv', tool: 'ping', arguments: step.args }
      return [
        itemStarted({ ...item, result: null, error: null, status: 'inProgress' }),
        itemCompleted({ ...item, ...mcpEnd(step.reply, 'structuredContent') }),
      ]
    }
    case 'search': {
      const item = { type: 'webSearch', id }
      return [
        itemStarted({ ...item, query: '', action: { type: 'other' } }),
        itemCompleted({ ...item, query: step.query, action: { type: 'openPage', url: step.query } }),
      ]
    }
    case 'agent': {
      const item = { type: 'collabAgentToolCall', id, tool: 'sendInput', prompt: step.prompt }
      const states = { t2: { status: 'pendingInit', message: null } }
      return [
        itemStarted({ ...item, senderThreadId: THREAD, receiverThreadIds: [], agentsStates: {} }),
        itemCompleted({ ...item, receiverThreadIds: ['t2'], agentsStates: states, status: 'completed' }),
      ]
    }
  }
}

function sayText(pieces: readonly string[], id: string): Line[] {
  const item = { type: 'agentMessage', id }
  return [
    itemStarted({ ...item, text: '' }),
    ...pieces.map(piece => textDelta(piece, id)),
    itemCompleted({ ...item, text: pieces.join('') }),
  ]
}

function commandStatus({ exitCode }: { exitCode: number | null }): string {
  if (exitCode === null) return 'declined'
  return exitCode === 0 ? 'completed' : 'failed'
}

function mcpEnd(reply: string | null, structured: string): Line {
  return reply === null
    ? { result: null, error: { message: 'needs approval' }, status: 'failed' }
    : {
        result: { content: [{ type: 'text', text: reply }], [structured]: { reply } },
        error: null,
        status: 'completed',
      }
}

function todo(completed: boolean, index: number) {
  return { text: `step ${index}`, completed }
}

function addTo(total: Totals, { input, output }: Totals): void {
  total.input += input
  total.output += output
}
