import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import type { HarnessTurnOpts, PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import type { Script } from '@chirality/scripted-model'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bodies, collect, expectOneEnd, ofType, run, toolOutputs } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

/** No sandbox of Codex lets anything be written here; the system's temporary folder is open to all of them. */
let outside = ''
beforeEach(() => {
  const folders = [path.join(import.meta.dirname, '../../node_modules'), homedir(), '/var/tmp']
  const isTemporary = (folder: string) =>
    ['/tmp', tmpdir()].some(open => realpathSync(folder).startsWith(`${realpathSync(open)}${path.sep}`))
  const closed = folders.find(folder => existsSync(folder) && !isTemporary(folder))
  if (closed === undefined)
    throw new Error(`Codex may write in each of ${folders.join(', ')}: move the clone or HOME out of /tmp.`)
  outside = mkdtempSync(path.join(closed, '.outside-'))
})
afterEach(() => rmSync(outside, { recursive: true }))

const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : null)

describe.each(VOICES)('what an agent may do through $voice', ({ voice }) => {
  test.each([
    { permissionMode: undefined, inside: false, beyond: false },
    { permissionMode: 'dontAsk', inside: false, beyond: false },
    { permissionMode: 'plan', inside: false, beyond: false },
    { permissionMode: 'acceptEdits', inside: true, beyond: false },
    { permissionMode: 'default', inside: true, beyond: false },
    { permissionMode: 'bypassPermissions', inside: true, beyond: true },
  ] as const)('$permissionMode: writes in the project $inside, elsewhere $beyond', async mode => {
    const { permissionMode, inside, beyond } = mode
    const model = await world.model({
      answers: [run('echo in > inside.txt'), run(`echo out > '${outside}/file.txt'`), 'Done.'],
    })
    const harness = world.harness({ model, voice })
    const events = await collect(harness.startTurn(world.session(), 'Write', { permissionMode }))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(read(path.join(world.project, 'inside.txt'))).toBe(inside ? 'in\n' : null)
    expect(read(path.join(outside, 'file.txt'))).toBe(beyond ? 'out\n' : null)
    expect(bodies(model)).toHaveLength(3)
  })

  test('an extra folder is open to a mode that may write', async () => {
    const model = await world.model({
      otherwise: 'Done.',
      answers: [run(`echo out > '${outside}/file.txt'`)],
    })
    const opts: HarnessTurnOpts = { permissionMode: 'acceptEdits', additionalDirectories: [outside] }
    await collect(world.harness({ model, voice }).startTurn(world.session(), 'Write', opts))
    expect(read(path.join(outside, 'file.txt'))).toBe('out\n')
  })

  test('a warm session heeds the mode of each turn', async () => {
    const write = (name: string) => [run(`echo x > ${name}`), 'Done.']
    const model = await world.model({ answers: [...write('one'), ...write('two'), ...write('three')] })
    const harness = world.harness({ model, voice })
    const session = world.session()
    for (const permissionMode of ['dontAsk', 'acceptEdits', 'dontAsk'] as const) {
      const events = await collect(harness.startTurn(session, 'Write', { permissionMode }))
      session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    }
    const written = ['one', 'two', 'three'].map(name => existsSync(path.join(world.project, name)))
    expect(written).toEqual([false, true, false])
  })
})

describe('permission requests of the app-server', () => {
  /** A command that asks to leave the sandbox. */
  const escalated = (file: string) =>
    run(`echo yes > '${outside}/${file}'`, {
      sandbox_permissions: 'require_escalated',
      justification: 'I need to write there',
    })

  async function turn(answers: Script['answers'], decide: HarnessTurnOpts['decide']) {
    const model = await world.model({ answers, otherwise: 'Done.' })
    const requests: PermissionRequestEvent[] = []
    const harness = world.harness({ model })
    const opts: HarnessTurnOpts = {
      permissionMode: 'default',
      decide:
        decide &&
        ((request, signal) => {
          requests.push(request)
          return decide(request, signal)
        }),
    }
    const events = await collect(harness.startTurn(world.session(), 'Write', opts))
    const resolved = ofType(events, 'permission:resolved')
    expect(ofType(events, 'permission:request').map(({ requestId }) => requestId)).toEqual(
      resolved.map(({ requestId }) => requestId),
    )
    return { model, events, requests, resolved, reason: expectOneEnd(events, 'app-server').reason }
  }

  const always = (decision: PermissionDecision) => async () => decision

  test('allowed: the command runs', async () => {
    const { requests, resolved, reason } = await turn([escalated('a')], always({ behavior: 'allow' }))
    expect(requests).toMatchObject([
      { kind: 'tool', toolName: 'command', reason: 'I need to write there', toolUseId: expect.any(String) },
    ])
    expect(requests[0]?.input.command).toContain(`${outside}/a`)
    expect(resolved).toMatchObject([{ outcome: 'allowed', by: 'person' }])
    expect(read(`${outside}/a`)).toBe('yes\n')
    expect(reason).toBe('completed')
  })

  test('denied: it does not run, and the turn goes on', async () => {
    const deny = always({ behavior: 'deny', message: 'Not there' })
    const { model, resolved, reason } = await turn([escalated('a')], deny)
    expect(resolved).toMatchObject([{ outcome: 'denied', by: 'person', message: 'Not there' }])
    expect(read(`${outside}/a`)).toBe(null)
    expect(reason).toBe('completed')
    expect(bodies(model)).toHaveLength(2)
  })

  test('denied and interrupted: the turn ends', async () => {
    const { model, reason } = await turn([escalated('a')], always({ behavior: 'deny', interrupt: true }))
    expect(reason).toBe('interrupted')
    expect(read(`${outside}/a`)).toBe(null)
    expect(bodies(model)).toHaveLength(1)
  })

  test('remembered for the session: the same is not asked again', async () => {
    const allow = always({ behavior: 'allow', remember: 'session' })
    const { requests } = await turn([escalated('a'), escalated('a')], allow)
    expect(requests).toHaveLength(1)
    expect(read(`${outside}/a`)).toBe('yes\n')
  })

  test.each([
    { what: 'a decision that throws', decide: () => Promise.reject(new Error('no broker')) },
    {
      what: 'a decision that makes no sense',
      decide: async () => undefined as unknown as PermissionDecision,
    },
    { what: 'nobody to decide', decide: undefined },
  ])('$what means no', async ({ decide }) => {
    const { resolved, reason } = await turn([escalated('a')], decide)
    expect(resolved).toMatchObject([{ outcome: 'denied', by: 'failure' }])
    expect(read(`${outside}/a`)).toBe(null)
    expect(reason).toBe('completed')
  })

  test('a changed command is not run unchanged', async () => {
    const changed = always({ behavior: 'allow', updatedInput: { command: 'echo harmless' } })
    const { resolved } = await turn([escalated('a')], changed)
    expect(resolved).toMatchObject([{ outcome: 'denied', message: expect.stringContaining('changed input') }])
    expect(read(`${outside}/a`)).toBe(null)
  })

  test('the input given back as it was is no change', async () => {
    const { resolved } = await turn([escalated('a')], async ({ input }) => ({
      behavior: 'allow',
      updatedInput: structuredClone(input),
    }))
    expect(resolved).toMatchObject([{ outcome: 'allowed' }])
    expect(read(`${outside}/a`)).toBe('yes\n')
  })

  const patch = (file: string) => ({
    tool: 'apply_patch',
    input: `*** Begin Patch\n*** Add File: ${file}\n+new line\n*** End Patch\n`,
  })

  /** What the agent may change in the project anyway, were it not asked about. */
  async function inProject(permissionMode: 'default' | 'acceptEdits', behavior: 'allow' | 'deny') {
    const model = await world.model({
      answers: [run('echo in > made.txt'), patch('patched.txt'), escalated('a')],
      otherwise: 'Done.',
    })
    const asked: string[] = []
    const decide: HarnessTurnOpts['decide'] = async ({ toolName }) => {
      asked.push(toolName)
      return { behavior }
    }
    const opts = { permissionMode, model: 'gpt-5.5', decide } as const
    const events = await collect(world.harness({ model }).startTurn(world.session(), 'Write', opts))
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    const files = [
      path.join(world.project, 'made.txt'),
      path.join(world.project, 'patched.txt'),
      `${outside}/a`,
    ]
    return { asked, written: files.map(read) }
  }

  test.each([
    { behavior: 'allow', written: ['in\n', 'new line\n', 'yes\n'] },
    { behavior: 'deny', written: [null, null, null] },
  ] as const)('default: all that changes something is asked for, and $behavior is heeded', async row => {
    const { asked, written } = await inProject('default', row.behavior)
    expect(asked).toEqual(['command', 'file_change', 'command'])
    expect(written).toEqual(row.written)
  })

  test('acceptEdits: only what leaves the project is asked for', async () => {
    const { asked, written } = await inProject('acceptEdits', 'deny')
    expect(asked).toEqual(['command'])
    expect(written).toEqual(['in\n', 'new line\n', null])
  })

  // What is allowed may be written outside, too: Codex tries a command that was allowed again without its sandbox.
  test('default: a command that would write outside the project is asked for, and does not when it is denied', async () => {
    const { requests } = await turn([run(`echo out > '${outside}/a'`)], always({ behavior: 'deny' }))
    expect(requests).toHaveLength(1)
    expect(read(`${outside}/a`)).toBe(null)
  })

  test('a file change outside the project is asked for, with what it changes', async () => {
    const model = await world.model({ answers: [patch(`${outside}/new.txt`)], otherwise: 'Done.' })
    const requests: PermissionRequestEvent[] = []
    const decide: HarnessTurnOpts['decide'] = async request => {
      requests.push(request)
      return { behavior: 'allow' }
    }
    const opts = { permissionMode: 'default', model: 'gpt-5.5', decide } as const
    await collect(world.harness({ model }).startTurn(world.session(), 'Write', opts))
    expect(requests).toMatchObject([{ kind: 'tool', toolName: 'file_change' }])
    expect(JSON.stringify(requests[0]?.input)).toContain('new.txt')
    expect(read(`${outside}/new.txt`)).toBe('new line\n')
  })

  test('a tool of an MCP server is asked for by name, with its input', async () => {
    const program = path.resolve(import.meta.dirname, '../programs/mcp-echo.mjs')
    const call = { tool: 'shout', namespace: 'mcp__echo', input: { text: 'hello' } }
    const model = await world.model({ answers: [call, call], otherwise: 'Done.' })
    const requests: PermissionRequestEvent[] = []
    const decisions: PermissionDecision[] = [{ behavior: 'allow' }, { behavior: 'deny' }]
    const opts: HarnessTurnOpts = {
      permissionMode: 'default',
      mcpServers: { echo: { type: 'stdio', command: process.execPath, args: [program] } },
      decide: async request => {
        requests.push(request)
        return decisions.shift() ?? { behavior: 'deny' }
      },
    }
    const events = await collect(world.harness({ model }).startTurn(world.session(), 'Shout', opts))
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'completed' })
    const asked = { kind: 'tool', toolName: 'mcp__echo__shout', input: { text: 'hello' } }
    expect(requests).toMatchObject([asked, asked])
    expect(ofType(events, 'tool:result').map(({ isError }) => isError)).toEqual([false, true])
    expect(toolOutputs(model)).toContain('HELLO')
  })

  test('a stop while a request is pending withdraws the request and emits its end', async () => {
    const model = await world.model({ answers: [escalated('a')], otherwise: 'Done.' })
    const harness = world.harness({ model })
    const session = world.session()
    let told = false
    const decide: HarnessTurnOpts['decide'] = (_request, signal) => {
      signal.addEventListener('abort', () => {
        told = true
      })
      harness.interrupt(session.id)
      return new Promise(() => {})
    }
    const opts = { permissionMode: 'default', decide } as const
    const events = await collect(harness.startTurn(session, 'Write', opts))
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: 'interrupted' })
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled' }])
    expect(told).toBe(true)
    expect(read(`${outside}/a`)).toBe(null)
  })
})

test('exec cannot send requests, so calls that need a person are denied', async () => {
  const program = path.resolve(import.meta.dirname, '../programs/mcp-echo.mjs')
  const call = { tool: 'shout', namespace: 'mcp__echo', input: { text: 'hello' } }
  const model = await world.model({ answers: [call, 'Done.', call, 'Done.'] })
  const harness = world.harness({ model, voice: 'exec' })
  const mcpServers: HarnessTurnOpts['mcpServers'] = {
    echo: { type: 'stdio', command: process.execPath, args: [program] },
  }
  const asking = await collect(
    harness.startTurn(world.session(), 'Hi', { permissionMode: 'default', mcpServers }),
  )
  expect(ofType(asking, 'tool:result')).toMatchObject([{ isError: true }])
  const given = await collect(
    harness.startTurn(world.session(), 'Hi', { permissionMode: 'dontAsk', mcpServers }),
  )
  expect(ofType(given, 'tool:result')).toMatchObject([{ isError: false }])
})
