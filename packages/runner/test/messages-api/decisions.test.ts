import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, PermissionDecision, PermissionRequestEvent, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { ofType, statuses } from '../support/turns.ts'
import { endOf, turnOf, useApiWorld } from './support/world.ts'

const world = useApiWorld()

const WRITE = { tool: 'write', input: { file_path: 'a.txt', content: 'hello' }, id: 'c1' }
const TOUCH = { tool: 'bash', input: { command: 'touch a.txt' }, id: 'c1' }

describe('who may do what', () => {
  const yes: HarnessTurnOpts['decide'] = async () => ({ behavior: 'allow' })
  test.each<[string, typeof WRITE | typeof TOUCH, HarnessTurnOpts, boolean, number]>([
    ['by default nothing changes', WRITE, {}, false, 0],
    ['dontAsk does not ask', WRITE, { permissionMode: 'dontAsk', decide: yes }, false, 0],
    [
      'dontAsk with the tool approved',
      WRITE,
      { permissionMode: 'dontAsk', autoApproveTools: ['write'] },
      true,
      0,
    ],
    [
      'a name as other agents write it',
      WRITE,
      { permissionMode: 'dontAsk', autoApproveTools: ['Write'] },
      true,
      0,
    ],
    ['default asks', WRITE, { permissionMode: 'default', decide: yes }, true, 1],
    ['default without anyone to ask', WRITE, { permissionMode: 'default' }, false, 0],
    ['acceptEdits takes edits', WRITE, { permissionMode: 'acceptEdits' }, true, 0],
    ['acceptEdits asks for commands', TOUCH, { permissionMode: 'acceptEdits', decide: yes }, true, 1],
    ['acceptEdits without anyone to ask', TOUCH, { permissionMode: 'acceptEdits' }, false, 0],
    [
      'plan changes nothing',
      WRITE,
      { permissionMode: 'plan', decide: yes, autoApproveTools: ['write'] },
      false,
      0,
    ],
    ['bypass does all', TOUCH, { permissionMode: 'bypassPermissions' }, true, 0],
    [
      'what is taken away is not there',
      TOUCH,
      { permissionMode: 'bypassPermissions', disallowedTools: ['bash'] },
      false,
      0,
    ],
    [
      'a use that is taken away',
      TOUCH,
      { permissionMode: 'bypassPermissions', disallowedTools: ['bash(touch *)'] },
      false,
      0,
    ],
    [
      'only the tools that are named',
      TOUCH,
      { permissionMode: 'bypassPermissions', tools: 'Read,Write' },
      false,
      0,
    ],
    ['no tool at all', TOUCH, { permissionMode: 'bypassPermissions', tools: '' }, false, 0],
    [
      'a command by its pattern',
      TOUCH,
      { permissionMode: 'dontAsk', autoApproveTools: ['bash(touch *)'] },
      true,
      0,
    ],
    ['another command', TOUCH, { permissionMode: 'dontAsk', autoApproveTools: ['bash(git *)'] }, false, 0],
    [
      'a file by its pattern',
      WRITE,
      { permissionMode: 'dontAsk', autoApproveTools: ['write(*.txt)'] },
      true,
      0,
    ],
    ['another file', WRITE, { permissionMode: 'dontAsk', autoApproveTools: ['write(docs/**)'] }, false, 0],
  ])('%s', async (_what, call, opts, isDone, asked) => {
    const { harness } = await world.open({ answers: [call, 'Done.'] })
    const events = await turnOf(harness, world.session(), 'Go', opts)
    expect(endOf(events)).toBe('completed')
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(isDone)
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: !isDone }])
    expect(ofType(events, 'permission:request')).toHaveLength(asked)
    expect(ofType(events, 'permission:resolved')).toHaveLength(asked)
  })

  test('a call that is denied without asking is emitted once', async () => {
    const { harness } = await world.open({ answers: [WRITE, 'Done.'] })
    const events = await turnOf(harness, world.session(), 'Go')
    expect(statuses(events, 'permission_denied')).toMatchObject([
      { toolUseId: 'c1', data: { toolName: 'write' } },
    ])
  })

  test.each(['.git/hooks/pre-commit', '.vscode/tasks.json', '.github/workflows/x.yml', 'alias/hooks/x'])(
    'acceptEdits does not take %s, which runs by itself later',
    async file_path => {
      mkdirSync(path.join(world.project, '.git', 'hooks'), { recursive: true })
      symlinkSync('.git', path.join(world.project, 'alias'))
      const { harness } = await world.open({
        answers: [{ tool: 'write', input: { file_path, content: 'x' } }, 'Done.'],
      })
      const events = await turnOf(harness, world.session(), 'Go', { permissionMode: 'acceptEdits' })
      expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
      expect(existsSync(path.join(world.project, file_path))).toBe(false)
    },
  )

  test('the mode can change while a turn runs', async () => {
    const { harness } = await world.open({
      answers: [{ ...TOUCH, id: 'c1' }, { ...WRITE, id: 'c2' }, 'Done.'],
    })
    const session = world.session()
    const decide = async (): Promise<PermissionDecision> => {
      await harness.setPermissionMode(session.id, 'acceptEdits')
      return { behavior: 'deny' }
    }
    const events = await turnOf(harness, session, 'Go', { permissionMode: 'default', decide })
    expect(ofType(events, 'tool:result').map(({ isError }) => isError)).toEqual([true, false])
  })
})

describe('answers', () => {
  test('a request has all the facts that a person needs', async () => {
    const { events, requests } = await asked(() => ({ behavior: 'allow' }))
    expect(requests).toMatchObject([
      {
        type: 'permission:request',
        kind: 'tool',
        toolName: 'write',
        input: WRITE.input,
        toolUseId: 'c1',
        reason: 'It changes a file.',
        suggestions: [{ type: 'addRules', rules: [{ toolName: 'write', ruleContent: 'a.txt' }] }],
      },
    ])
    expect(ofType(events, 'permission:request')).toEqual(requests)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'allowed', by: 'person' }])
  })

  test('a tool runs with the edited input', async () => {
    await asked(() => ({ behavior: 'allow', updatedInput: { file_path: 'b.txt', content: 'other' } }))
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
    expect(readFileSync(path.join(world.project, 'b.txt'), 'utf8')).toBe('other')
  })

  test.each<[string, Record<string, unknown>]>([
    ['that does not fit the schema', { file_path: 'a.txt', content: 7 }],
    ['that leads out', { file_path: '../a.txt', content: 'x' }],
    ['that is empty', {}],
  ])('an edited input %s does not run', async (_what, updatedInput) => {
    const { events } = await asked(() => ({ behavior: 'allow', updatedInput }))
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
    expect(endOf(events)).toBe('completed')
  })

  test('an edited input is under the same rules', async () => {
    const updatedInput = { file_path: 'secret.txt', content: 'x' }
    const { events } = await asked(() => ({ behavior: 'allow', updatedInput }), {
      disallowedTools: ['write(secret*)'],
    })
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
  })

  test('the reason for a no reaches the model', async () => {
    const { events } = await asked(() => ({
      behavior: 'deny',
      message: 'Use b.txt.',
      by: 'policy',
      rule: 'deny write',
    }))
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true, content: 'Use b.txt.' }])
    expect(ofType(events, 'permission:resolved')).toMatchObject([
      { outcome: 'denied', by: 'policy', rule: 'deny write', message: 'Use b.txt.' },
    ])
    expect(endOf(events)).toBe('completed')
  })

  test('a denial can end the turn', async () => {
    const { events } = await asked(() => ({ behavior: 'deny', interrupt: true }))
    expect(endOf(events)).toBe('interrupted')
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'interrupted' }])
  })

  test.each<[string, () => unknown]>([
    ['throws', () => Promise.reject(new Error('broken'))],
    ['says neither', () => ({ behavior: 'maybe' })],
    ['says nothing', () => undefined],
  ])('one who %s means no', async (_what, decide) => {
    const { events } = await asked(decide as () => PermissionDecision)
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: true }])
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
  })

  test('a call that is allowed for the session is not asked about again; any other call is', async () => {
    const again = (command: string) => ({ tool: 'bash', input: { command } })
    const { harness } = await world.open({
      answers: [again('true'), again('true'), again('true # other'), 'Done.', again('true'), 'Done.'],
    })
    const session = world.session()
    const commands: unknown[] = []
    const decide = async ({ input }: PermissionRequestEvent): Promise<PermissionDecision> => {
      commands.push(input.command)
      return { behavior: 'allow', remember: 'session' }
    }
    await turnOf(harness, session, 'Go', { permissionMode: 'default', decide })
    await turnOf(harness, session, 'Again', { permissionMode: 'default', decide })
    expect(commands).toEqual(['true', 'true # other'])
    expect(ofType(await turnOf(harness, world.session(), 'Else', {}), 'tool:result')).toEqual([])
  })

  test('several calls of one answer ask in turn, each for itself', async () => {
    const blocks = ['1', '2', '3'].map(id => ({ tool: 'bash', input: { command: `touch ${id}` }, id }))
    const { harness } = await world.open({ answers: [{ blocks }, 'Done.'] })
    const order: string[] = []
    let open = 0
    const decide = async ({ toolUseId = '' }: PermissionRequestEvent): Promise<PermissionDecision> => {
      open += 1
      order.push(`${toolUseId}:${open}`)
      await new Promise(resolve => setImmediate(resolve))
      open -= 1
      return { behavior: toolUseId === '2' ? 'deny' : 'allow' }
    }
    const events = await turnOf(harness, world.session(), 'Go', { permissionMode: 'default', decide })
    expect(order).toEqual(['1:1', '2:1', '3:1'])
    expect(ofType(events, 'tool:result').map(({ isError }) => isError)).toEqual([false, true, false])
    expect(['1', '2', '3'].map(name => existsSync(path.join(world.project, name)))).toEqual([
      true,
      false,
      true,
    ])
  })

  test('a request that is open when the turn is stopped is closed', async () => {
    const { harness } = await world.open({ answers: [WRITE, 'never'] })
    const session = world.session()
    let signalled = false
    const decide = (_request: PermissionRequestEvent, signal: AbortSignal): Promise<PermissionDecision> => {
      harness.interrupt(session.id)
      signalled = signal.aborted
      return new Promise(() => {})
    }
    const events = await turnOf(harness, session, 'Go', { permissionMode: 'default', decide })
    expect(signalled).toBe(true)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled' }])
    expect(endOf(events)).toBe('interrupted')
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
  })

  async function asked(
    decide: (request: PermissionRequestEvent) => PermissionDecision,
    opts: HarnessTurnOpts = {},
  ): Promise<{ events: UIEvent[]; requests: PermissionRequestEvent[] }> {
    const { harness } = await world.open({ answers: [WRITE, 'Done.'] })
    const requests: PermissionRequestEvent[] = []
    const events = await turnOf(harness, world.session(), 'Go', {
      permissionMode: 'default',
      ...opts,
      decide: async request => {
        requests.push(request)
        return decide(request)
      },
    })
    return { events, requests }
  }
})

describe('client tools', () => {
  const greet = (calls: unknown[], readOnly?: boolean) => ({
    name: 'greet',
    description: 'Greets someone',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    ...(readOnly ? { readOnly } : {}),
    handler: async (args: Record<string, unknown>) => {
      calls.push(args)
      return args.name === 'nobody'
        ? { error: 'There is nobody.' }
        : { content: `Hello ${String(args.name)}` }
    },
  })
  const NAME = 'mcp____harness_client_tools__greet'

  test.each<[string, Record<string, unknown>, HarnessTurnOpts, boolean, string]>([
    ['run here', { name: 'Ada' }, {}, false, 'Hello Ada'],
    ['fail as they say', { name: 'nobody' }, {}, true, 'There is nobody.'],
    ['are checked', { name: 7 }, {}, true, 'does not fit its schema'],
    ['do not run in plan', { name: 'Ada' }, { permissionMode: 'plan' }, true, 'Not allowed'],
    ['can be taken away', { name: 'Ada' }, { disallowedTools: [NAME] }, true, 'There is no tool'],
  ])('%s', async (_what, input, opts, isError, content) => {
    const calls: unknown[] = []
    const { harness } = await world.open({ answers: [{ tool: NAME, input }, 'Done.'] })
    const events = await turnOf(harness, world.session(), 'Go', { clientTools: [greet(calls)], ...opts })
    expect(ofType(events, 'tool:result')).toMatchObject([
      { isError, content: expect.stringContaining(content) },
    ])
  })

  test('those of the harness are there in every turn, beside those of the turn', async () => {
    const calls: unknown[] = []
    const { harness, model } = await world.open(
      { answers: [{ tool: NAME, input: { name: 'Ada' } }, 'Done.'] },
      { clientTools: [greet(calls)] },
    )
    await turnOf(harness, world.session(), 'Go', { clientTools: [{ ...greet([]), name: 'part' }] })
    expect(calls).toEqual([{ name: 'Ada' }])
    const offered = [NAME, NAME.replace('greet', 'part')].map(name => expect.objectContaining({ name }))
    expect(model.requests[0]?.body).toMatchObject({ tools: expect.arrayContaining(offered) })
  })

  test('one that changes nothing may be called in plan', async () => {
    const calls: unknown[] = []
    const { harness } = await world.open({ answers: [{ tool: NAME, input: { name: 'Ada' } }, 'Done.'] })
    await turnOf(harness, world.session(), 'Go', {
      clientTools: [greet(calls, true)],
      permissionMode: 'plan',
    })
    expect(calls).toEqual([{ name: 'Ada' }])
  })
})

test('a path that leads out is refused before anyone is asked', async () => {
  writeFileSync(path.join(world.root, 'outside.txt'), 'mine')
  const input = { file_path: '../outside.txt', content: 'evil' }
  const { harness } = await world.open({ answers: [{ tool: 'write', input }, 'Done.'] })
  const events = await turnOf(harness, world.session(), 'Go', { permissionMode: 'bypassPermissions' })
  expect(ofType(events, 'tool:result')).toMatchObject([
    { isError: true, content: expect.stringContaining('outside the folders') },
  ])
  expect(readFileSync(path.join(world.root, 'outside.txt'), 'utf8')).toBe('mine')
})

test('a file that must not be read is not searched or found either', async () => {
  writeFileSync(path.join(world.project, '.env'), 'TOKEN=secret')
  const calls = [
    { tool: 'read', input: { file_path: '.env' } },
    { tool: 'grep', input: { pattern: 'TOKEN' } },
    { tool: 'grep', input: { pattern: 'TOKEN', path: '.env' } },
    { tool: 'glob', input: { pattern: '**' } },
  ]
  const { harness } = await world.open({ answers: [...calls, 'Done.'] })
  const events = await turnOf(harness, world.session(), 'Go', { disallowedTools: ['Read(.env)'] })
  const contents = ofType(events, 'tool:result').map(({ content }) => content)
  expect(contents).toHaveLength(4)
  expect(contents.join()).not.toContain('secret')
  expect(contents[3]).not.toContain('.env')
})
