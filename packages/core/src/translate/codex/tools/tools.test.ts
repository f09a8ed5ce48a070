import { describe, expect, test } from 'vitest'
import {
  appCommand,
  appEvents,
  appTurnCompleted,
  appTurnStarted,
  command,
  completed,
  execEvents,
  fold,
  itemCompleted,
  itemStarted,
  type Line,
  notification,
  only,
  started,
  threadStarted,
  turnCompleted,
  turnFailed,
  updated,
} from '../../../../test/support/codex-lines.ts'

const sessionId = 'ours'

function execTool(...lines: Line[]) {
  return execEvents(threadStarted(), ...lines).filter(event => event.type.startsWith('tool:'))
}

function appTool(...lines: Line[]) {
  return appEvents(appTurnStarted(), ...lines).filter(event => event.type.startsWith('tool:'))
}

describe('the course of a call', () => {
  test('C20, C21: a start and a result', () => {
    const end = command({ aggregated_output: 'a.txt\n', exit_code: 0, status: 'completed' })
    expect(execTool(started(command()), completed(end))).toStrictEqual([
      {
        type: 'tool:start',
        sessionId,
        toolUseId: 'turn-1:item_0',
        name: 'command',
        input: { command: 'ls' },
        facts: { kind: 'execute', label: 'Command', object: 'ls', command: 'ls' },
      },
      {
        type: 'tool:result',
        sessionId,
        toolUseId: 'turn-1:item_0',
        content: 'a.txt\n',
        isError: false,
        detail: { status: 'completed', exitCode: 0 },
      },
    ])
  })

  test('C21: what is over at once still has a start', () => {
    expect(execTool(completed(command({ status: 'completed' }))).map(event => event.type)).toStrictEqual([
      'tool:start',
      'tool:result',
    ])
  })

  test('C21: one start, whatever repeats it', () => {
    expect(execTool(started(command()), started(command()), updated(command()))).toHaveLength(1)
  })

  test('C3: an id that a provider uses again names another call', () => {
    const done = itemCompleted(appCommand({ status: 'completed', exitCode: 0 }))
    const events = appTool(itemStarted(appCommand()), done, itemStarted(appCommand({ command: 'pwd' })), done)
    expect(only(events, 'tool:start').map(event => event.toolUseId)).toStrictEqual([
      'turn-1:call_1',
      'turn-1:call_1~2',
    ])
    expect(only(events, 'tool:result').at(-1)).toMatchObject({ toolUseId: 'turn-1:call_1~2' })
  })

  test('C21: input that grows replaces the input before', () => {
    const change = (...paths: string[]) => ({
      type: 'fileChange',
      id: 'call_1',
      changes: paths.map(path => ({ path, kind: { type: 'add' }, diff: 'x' })),
      status: 'inProgress',
    })
    const grown = notification('item/fileChange/patchUpdated', {
      itemId: 'call_1',
      changes: change('a', 'b').changes,
    })
    const events = appTool(itemStarted(change('a')), grown, grown, itemCompleted(change('a', 'b')))
    expect(events.map(event => event.type)).toStrictEqual(['tool:start', 'tool:input', 'tool:result'])
    expect(events[1]).toMatchObject({ input: { changes: [{ path: 'a' }, { path: 'b' }] } })
  })

  test('C25: a call that nothing completes has no result, and the end of the turn closes it', () => {
    const events = execEvents(threadStarted(), started(command()), turnCompleted())
    expect(only(events, 'tool:result')).toStrictEqual([])
    expect(fold(events).items.find(item => item.kind === 'tool')).toMatchObject({ status: 'unfinished' })
  })

  test('C25: in a turn that failed or was stopped it gets a failed one', () => {
    const stopped = appTool(itemStarted(appCommand()), appTurnCompleted({ status: 'interrupted' }))
    expect(stopped.at(-1)).toMatchObject({ type: 'tool:result', toolUseId: 'turn-1:call_1', isError: true })
    const failed = execTool(started(command()), turnFailed('x'))
    expect(failed.at(-1)).toMatchObject({ type: 'tool:result', toolUseId: 'turn-1:item_0', isError: true })
    const late = itemCompleted(appCommand({ status: 'completed', exitCode: 0, aggregatedOutput: 'done' }))
    const next = [appTurnCompleted({ status: 'interrupted' }), appTurnStarted('turn-2')]
    const events = appTool(itemStarted(appCommand()), ...next, appTurnCompleted({ status: 'failed' }), late)
    expect(only(events, 'tool:result')).toMatchObject([
      { isError: true },
      { toolUseId: 'turn-1:call_1', isError: false, content: 'done' },
    ])
    expect(only(events, 'tool:start')).toHaveLength(1)
  })

  test('C25: one that ends after its turn still gets its result', () => {
    const late = itemCompleted(appCommand({ status: 'failed', exitCode: -1, aggregatedOutput: 'begin\n' }))
    const events = appTool(itemStarted(appCommand()), appTurnCompleted(), appTurnStarted('turn-2'), late)
    expect(events.at(-1)).toMatchObject({
      type: 'tool:result',
      toolUseId: 'turn-1:call_1',
      content: 'begin\n',
      isError: true,
    })
  })

  test('C3: one that still runs is not taken for another with its id in the next turn', () => {
    const next = itemStarted(appCommand({ command: 'pwd' }))
    const events = appTool(itemStarted(appCommand()), appTurnCompleted(), appTurnStarted('turn-2'), next)
    expect(only(events, 'tool:start').map(event => event.toolUseId)).toStrictEqual([
      'turn-1:call_1',
      'turn-2:call_1',
    ])
  })

  test('C3: in the next process of a spool an id names another call', () => {
    const events = execTool(started(command()), threadStarted(), started(command({ command: 'pwd' })))
    expect(only(events, 'tool:start').map(event => event.toolUseId)).toStrictEqual([
      'turn-1:item_0',
      'turn-1.2:item_0',
    ])
    const atOnce = execTool(started(command()), threadStarted(), completed(command({ command: 'pwd' })))
    expect(atOnce.at(-1)).toMatchObject({ type: 'tool:result', toolUseId: 'turn-1.2:item_0' })
  })
})

describe('C26: a web search, which is printed with two ids', () => {
  const search = (id: string, query: string) => ({ id, type: 'web_search', query, action: { type: 'other' } })

  test('C26: the id that a parser keeps', () => {
    const line = `{"type":"item.started","item":{"id":"item_0","type":"web_search","id":"ws_1","query":"rust"}}`
    expect(execTool(JSON.parse(line))).toMatchObject([{ toolUseId: 'turn-1:ws_1' }])
  })

  test('C26: an end whose id does not match its start ends the search that is open', () => {
    const events = execTool(started(search('item_0', '')), completed(search('ws_1', 'rust')))
    expect(events).toMatchObject([
      { type: 'tool:start', toolUseId: 'turn-1:item_0', input: { query: '' } },
      { type: 'tool:input', toolUseId: 'turn-1:item_0', input: { query: 'rust' } },
      { type: 'tool:result', toolUseId: 'turn-1:item_0' },
    ])
  })

  test('C26: with none open it is a search of its own', () => {
    const one = [started(search('ws_1', 'a')), completed(search('ws_1', 'a'))]
    expect(only(execTool(...one, completed(search('ws_2', 'b'))), 'tool:start')).toHaveLength(2)
  })
})

describe('C23: the output of a command', () => {
  const output = (delta: unknown, itemId: unknown = 'call_1') =>
    notification('item/commandExecution/outputDelta', { itemId, delta })

  test('C23: its pieces are progress, and the result has all of it', () => {
    const end = appCommand({ status: 'completed', exitCode: 0, aggregatedOutput: 'tick 1\ntick 2\n' })
    const events = appEvents(
      appTurnStarted(),
      itemStarted(appCommand()),
      output('tick 2\n'),
      itemCompleted(end),
    )
    expect(only(events, 'status')).toMatchObject([
      {
        status: 'tool_progress',
        toolUseId: 'turn-1:call_1',
        data: { toolName: 'command', output: 'tick 2\n' },
      },
    ])
    expect(only(events, 'tool:result')).toMatchObject([{ content: 'tick 1\ntick 2\n' }])
  })

  test('C23: pieces of a command that nobody started are dropped: the result has them', () => {
    expect(only(appEvents(appTurnStarted(), output('x'), output(''), output(7)), 'status')).toStrictEqual([])
  })

  test('C23: what the agent types into it, and what an MCP tool reports, is progress too', () => {
    const events = appEvents(
      appTurnStarted(),
      itemStarted(appCommand()),
      notification('item/commandExecution/terminalInteraction', { itemId: 'call_1', stdin: 'y\n' }),
      notification('item/mcpToolCall/progress', { itemId: 'call_1', message: 'half way' }),
    )
    expect(only(events, 'status')).toMatchObject([
      { status: 'tool_progress', data: { stdin: 'y\n' } },
      { status: 'tool_progress', message: 'half way' },
    ])
  })
})
