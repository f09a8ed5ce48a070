import { existsSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, PermissionDecision, PermissionRequestEvent, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { useHosts } from '../support/host.ts'
import { ofType } from '../support/turns.ts'
import { useArena } from './arena.ts'
import { everyContestant } from './contestants.ts'

// Whoever asks, asks in the same way, and heeds the answer. A new form only has to be listed in contestants.ts.

const arena = useArena()
const hosts = useHosts()
/** One release of each form: what is asked is decided by us, not by the release. */
const agents = everyContestant().flatMap(agent =>
  agent.asking && !agent.isOlder ? [[agent.name, agent, agent.asking] as const] : [],
)

describe.each(agents)('%s', (_name, agent, asking) => {
  const touch = (file: string) => asking.command(`touch ${inProject(file)}`)

  test('allow: it waits for the answer, and then it runs', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }, 'Done.'] })
    expect(arena.harness.capabilities().supportsDecisions).toBe(true)
    const seen: boolean[] = []
    const { asked, events } = await turn(async () => {
      seen.push(existsSync(inProject('a')))
      return { behavior: 'allow', by: 'policy', rule: 'allow touch' }
    })
    expect(seen).toEqual([false])
    expect(existsSync(inProject('a'))).toBe(true)
    expect(asked).toMatchObject([{ kind: 'tool', requestId: expect.any(String), raw: expect.anything() }])
    expect(JSON.stringify(asked[0]?.input)).toContain('touch')
    expect(ofType(events, 'permission:request')).toEqual(asked)
    expect(ofType(events, 'permission:resolved')).toMatchObject([
      { requestId: asked[0]?.requestId, outcome: 'allowed', by: 'policy', rule: 'allow touch' },
    ])
    expectCompleted(events)
  })

  test('deny: it does not run, and the turn goes on', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }, 'As you wish.'] })
    const { events } = await turn(async () => ({ behavior: 'deny', message: 'Not on a Sunday.' }))
    expect(existsSync(inProject('a'))).toBe(false)
    expect(ofType(events, 'permission:resolved')).toMatchObject([
      { outcome: 'denied', by: 'person', message: 'Not on a Sunday.' },
    ])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'As you wish.' }])
    expectCompleted(events)
  })

  test('deny and interrupt: the turn ends with it', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }], otherwise: 'never said' })
    const { events } = await turn(async () => ({ behavior: 'deny', interrupt: true }))
    expect(existsSync(inProject('a'))).toBe(false)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
  })

  test('edit: what was changed runs as changed, or not at all', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }, 'Done.'] })
    const { events, asked } = await turn(async ({ input }) => ({
      behavior: 'allow',
      updatedInput: (asking.edited ?? sneaky)(input, `touch ${inProject('b')}`),
    }))
    expect(existsSync(inProject('a'))).toBe(false)
    expect(existsSync(inProject('b'))).toBe(asking.edited !== null)
    const resolved = ofType(events, 'permission:resolved')
    if (asking.edited) {
      const updatedInput = asking.edited(asked[0]?.input ?? {}, `touch ${inProject('b')}`)
      const { toolUseId } = asked[0] ?? {}
      expect(resolved).toMatchObject([{ outcome: 'allowed', updatedInput, toolUseId }])
    } else {
      // Not by the person, who allowed it.
      expect(resolved).toMatchObject([{ outcome: 'denied', by: 'failure' }])
      expect(resolved[0]).not.toHaveProperty('updatedInput')
    }
    expectCompleted(events)
  })

  test('edit: what a rule denies does not run as an edited call either', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }, 'Done.'] })
    const { events } = await turn(
      async ({ input }) => ({
        behavior: 'allow',
        updatedInput: (asking.edited ?? sneaky)(input, `touch ${inProject('b')}`),
      }),
      {
        guard: {
          hasRules: true,
          judge: async ({ input }) =>
            JSON.stringify(input).includes(inProject('b'))
              ? { effect: 'deny', reason: 'b is not touched.', rule: 'deny b' }
              : { effect: 'pass' },
        },
      },
    )
    expect(['a', 'b'].filter(file => existsSync(inProject(file)))).toEqual([])
    const [resolved] = ofType(events, 'permission:resolved')
    expect(resolved).toMatchObject({ outcome: 'denied' })
    expect(resolved).not.toHaveProperty('updatedInput')
    if (asking.edited) expect(resolved).toMatchObject({ by: 'policy', rule: 'deny b' })
    expectCompleted(events)
  })

  test.each<[string, HarnessTurnOpts['decide']]>([
    ['nobody to ask', undefined],
    ['an answer that makes no sense', async () => ({ behavior: 'yes' }) as never],
  ])('%s means no', async (_what, decide) => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }, 'Done.'] })
    const events = await arena.turn('Go', { permissionMode: 'default', decide })
    expect(existsSync(inProject('a'))).toBe(false)
    expectCompleted(events)
  })

  test('tools at once: each asks, and each answer is for its own', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a'), touch('b'), touch('c')] }, 'Done.'] })
    const { asked, events } = await turn(async ({ input }) => {
      const isLast = JSON.stringify(input).includes(inProject('c'))
      return { behavior: isLast ? 'deny' : 'allow' }
    })
    expect(asked).toHaveLength(3)
    expect(['a', 'b', 'c'].map(file => existsSync(inProject(file)))).toEqual([true, true, false])
    expect(new Set(asked.map(({ requestId }) => requestId)).size).toBe(3)
    expectCompleted(events)
  })

  test('an answer may take its time: others go on meanwhile, and nothing is answered by itself', async () => {
    await arena.open(agent, {
      answers: [{ blocks: [touch('a')] }, 'Another turn.', 'Done.'],
    })
    const { events } = await turn(
      async () => {
        const other = await arena.turn('Hello', { permissionMode: 'default' })
        expectCompleted(other)
        expect(existsSync(inProject('a'))).toBe(false)
        return { behavior: 'allow' }
      },
      { stallMs: 1 },
    )
    expect(existsSync(inProject('a'))).toBe(true)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'allowed' }])
    expectCompleted(events)
  })

  test('late: an answer to a turn that has ended changes nothing, and the request is closed', async () => {
    await arena.open(agent, { answers: [{ blocks: [touch('a')] }, 'Next turn.'], otherwise: 'Next turn.' })
    const session = arena.session()
    let answer: (decision: PermissionDecision) => void = () => {}
    let isWithdrawn = false
    const events = await arena.collect(session, 'Go', {
      permissionMode: 'default',
      decide: (_request, signal) => {
        signal.addEventListener('abort', () => {
          isWithdrawn = true
        })
        queueMicrotask(() => arena.harness.interrupt(session.id))
        return new Promise(resolve => {
          answer = resolve
        })
      },
    })
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
    expect(isWithdrawn).toBe(true)
    answer({ behavior: 'allow' })
    expectCompleted(await arena.collect(session, 'And now?', { permissionMode: 'default' }))
    expect(existsSync(inProject('a'))).toBe(false)
  })

  test.each(listed(asking.question))('a question is answered by a person', async question => {
    await arena.open(agent, { answers: [{ blocks: [question('Which colour?', ['Red', 'Blue'])] }, 'Done.'] })
    const { asked, events } = await turn(async ({ input }) => ({
      behavior: 'allow',
      updatedInput: { ...input, answers: { 'Which colour?': 'Blue' } },
    }))
    expect(asked).toMatchObject([{ kind: 'question' }])
    expect(ofType(events, 'tool:result')[0]?.content).toContain('Blue')
    expectCompleted(events)
  })

  test.each(listed(asking.plan))('a plan is sent back, and then approved', async plan => {
    await arena.open(agent, { answers: [{ blocks: [plan('One.')] }, { blocks: [plan('Two.')] }, 'Done.'] })
    const { asked, events } = await turn(
      async ({ input }) =>
        JSON.stringify(input).includes('One.')
          ? { behavior: 'deny', message: 'Think of the walrus.' }
          : { behavior: 'allow' },
      { permissionMode: 'plan' },
    )
    expect(asked.map(({ kind }) => kind)).toEqual(['plan', 'plan'])
    expect(ofType(events, 'tool:result')).toMatchObject([
      { isError: true, content: expect.stringContaining('walrus') },
      { isError: false },
    ])
    expectCompleted(events)
  })

  test.each(listed(asking.subAgent))('a sub-agent asks, and says who it is', async subAgent => {
    await arena.open(agent, {
      answers: [{ blocks: [subAgent('SUBTASK')] }, 'Done.'],
      routes: [
        { when: { conversationContains: 'SUBTASK' }, answers: [{ blocks: [touch('a')] }, 'sub done'] },
      ],
      otherwise: 'More.',
    })
    const { asked, events } = await turn(async () => ({ behavior: 'allow' }))
    expect(asked).toMatchObject([{ agentId: expect.any(String) }])
    expect(existsSync(inProject('a'))).toBe(true)
    expectCompleted(events)
  })
})

/** Also the older release: what a hook can do is decided there. */
const guarded = everyContestant().flatMap(agent => (agent.asking ? [[agent.name, agent] as const] : []))

describe.each(guarded)('%s: a guard is asked before every call', (_name, agent) => {
  const touch = (file: string) => agent.command(`touch ${inProject(file)}`)
  /** By the name of the file: `denied…`, `asked…`, and anything else passes. */
  const guard = (calls: string[] = []): NonNullable<HarnessTurnOpts['guard']> => ({
    hasRules: true,
    judge: async ({ input }) => {
      const [name = ''] = /\w+(?=["']*$)/.exec(String(input.command ?? input.file_path)) ?? []
      calls.push(name)
      if (name.startsWith('denied')) return { effect: 'deny', reason: 'Not that.', rule: 'deny it' }
      return name.startsWith('asked') ? { effect: 'ask', reason: 'Is it meant?' } : { effect: 'pass' }
    },
  })

  test('with all checks off: what it denies does not run, what it asks about is asked, the rest runs', async () => {
    const files = ['free', 'denied', 'asked_yes', 'asked_no']
    await arena.open(agent, { answers: [{ blocks: files.map(touch) }, 'Done.'] })
    const calls: string[] = []
    const { asked, events } = await turn(
      async ({ input }) => ({ behavior: JSON.stringify(input).includes('asked_yes') ? 'allow' : 'deny' }),
      { ...agent.free, guard: guard(calls) },
    )
    expect(calls.sort()).toEqual([...files].sort())
    expect(files.map(file => existsSync(inProject(file)))).toEqual([true, false, true, false])
    expect(asked.map(({ input }) => /asked_\w+/.exec(JSON.stringify(input))?.[0]).sort()).toEqual([
      'asked_no',
      'asked_yes',
    ])
    const denied = ofType(events, 'permission:request').find(({ input }) =>
      JSON.stringify(input).includes('denied'),
    )
    expect(ofType(events, 'permission:resolved')).toContainEqual(
      expect.objectContaining({
        requestId: denied?.requestId,
        outcome: 'denied',
        by: 'policy',
        rule: 'deny it',
        message: 'Not that.',
      }),
    )
    expectCompleted(events)
  })

  // A hook that fails has no objection, in releases that cannot be told to block then.
  test.each(agent.name.includes('2.1.197') ? ['deny'] : [])(
    'a guard that fails to object does not undo a rule: %s',
    async effect => {
      await arena.open(agent, { answers: [{ blocks: [touch('free'), touch('denied')] }, 'Done.'] })
      const rule = { effect: effect as 'deny', tool: 'Bash', pattern: `touch ${inProject('denied')}` }
      const silent: NonNullable<HarnessTurnOpts['guard']> = {
        hasRules: true,
        rules: [rule],
        judge: async () => ({ effect: 'pass' }),
      }
      const { events } = await turn(async () => ({ behavior: 'deny' }), { ...agent.free, guard: silent })
      expect(['free', 'denied'].map(file => existsSync(inProject(file)))).toEqual([true, false])
      expectCompleted(events)
    },
  )

  test.each(agent.harness === 'codex' ? [] : ['Bash'])(
    'for a tool that is approved beforehand: %s',
    async tool => {
      await arena.open(agent, {
        answers: [
          { blocks: [touch('free'), touch('denied')] },
          'Done.',
          { blocks: [touch('denied2')] },
          'Done.',
        ],
      })
      const session = arena.session()
      const opts: HarnessTurnOpts = { permissionMode: 'default', autoApproveTools: [tool], guard: guard() }
      expectCompleted(await arena.collect(session, 'Go', opts))
      expect(['free', 'denied'].map(file => existsSync(inProject(file)))).toEqual([true, false])
      const failing: NonNullable<HarnessTurnOpts['guard']> = {
        hasRules: false,
        judge: () => Promise.reject(new Error('no rules')),
      }
      expectCompleted(await arena.collect(session, 'Again', { ...opts, guard: failing }))
      expect(existsSync(inProject('denied2'))).toBe(false)
    },
  )
})

describe.each(agents.filter(([name]) => name !== 'messages-api'))('%s', (_name, agent, asking) => {
  test('a host that is killed while it asks: told once more, closed, and not run', async () => {
    await arena.open(agent, {
      answers: [{ blocks: [asking.command(`touch ${inProject('a')}`)] }],
      otherwise: 'Never mind.',
    })
    const session = arena.session()
    const { model, place } = arena
    const opts = { permissionMode: 'default' } as const
    const host = hosts.start({
      agent: agent.name,
      model,
      place,
      session,
      message: 'Go',
      opts,
      decision: 'never',
    })
    try {
      await host.tells(({ type }) => type === 'permission:request')
    } finally {
      await host.kill()
    }
    const decide = async () => ({ behavior: 'allow' }) as const
    const events = await arena.adopt(session, host.trace(), { decide })
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    const [request] = ofType(events, 'permission:request')
    expect(ofType(events, 'permission:request')).toHaveLength(1)
    const resolved = ofType(events, 'permission:resolved')
    expect(resolved.map(({ requestId, outcome }) => [requestId, outcome])).not.toContainEqual([
      request?.requestId,
      'allowed',
    ])
    expect(ofType(events, 'turn:end')).toHaveLength(1)
    expect(existsSync(inProject('a'))).toBe(false)
  })
})

async function turn(
  decide: NonNullable<HarnessTurnOpts['decide']>,
  opts: HarnessTurnOpts = {},
): Promise<{ events: UIEvent[]; asked: PermissionRequestEvent[] }> {
  const asked: PermissionRequestEvent[] = []
  const events = await arena.turn('Go', {
    permissionMode: 'default',
    ...opts,
    decide: (request, signal) => {
      asked.push(request)
      return decide(request, signal)
    },
  })
  return { events, asked }
}

/** For agents that run what they asked for or nothing. */
function sneaky(input: Record<string, unknown>, command: string): Record<string, unknown> {
  return { ...input, command }
}

function listed<T>(value: T | null): T[] {
  return value === null ? [] : [value]
}

function inProject(file: string): string {
  return path.join(arena.project, file)
}

function expectCompleted(events: UIEvent[]): void {
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
}
