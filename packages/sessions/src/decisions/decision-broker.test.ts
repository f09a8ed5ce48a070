import { isCodedError, type PermissionDecision, type PermissionRequestEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { permissionRequest as request } from '../../test/decisions/permission-request.ts'
import type { AskContext, PolicyJudge } from './ask-context.ts'
import { DecisionBroker } from './decision-broker.ts'

const context: AskContext = {
  sessionId: 's1',
  projectRoot: '/project',
  persona: null,
  harness: 'claude-code',
}

/** A signal that never fires. */
function never(): AbortSignal {
  return new AbortController().signal
}

/** Asks, and waits until a person can answer. */
async function ask(broker: DecisionBroker, changes: Partial<PermissionRequestEvent> = {}, signal = never()) {
  const waiting = new Promise<void>(resolve => {
    const stop = broker.onChange(() => {
      stop()
      resolve()
    })
  })
  const decision = broker.ask(context, request(changes), signal)
  await waiting
  return { decision }
}

function codeOf(work: () => void): string {
  try {
    work()
  } catch (error) {
    if (isCodedError(error)) return error.code
    throw error
  }
  return 'taken'
}

test('a request is listed until a person answers it', async () => {
  const broker = new DecisionBroker()
  const { decision } = await ask(broker)
  await ask(broker, { requestId: 'r2' })
  expect(broker.pending('s1').map(({ request }) => request.requestId)).toEqual(['r1', 'r2'])
  expect(broker.pending()[0]).toEqual({
    sessionId: 's1',
    askedAt: expect.stringMatching(/^\d{4}-/),
    request: request({ always: { rule: 'allow Bash(ls)', words: 'this exact command' } }),
  })
  expect(broker.pending('other')).toEqual([])
  broker.answer('s1', 'r1', { behavior: 'allow', updatedInput: { command: 'ls -l' } })
  expect(await decision).toEqual({ behavior: 'allow', updatedInput: { command: 'ls -l' }, by: 'person' })
  expect(broker.pending('s1').map(({ request }) => request.requestId)).toEqual(['r2'])
})

describe('an answer that is not taken', () => {
  test('a second answer to the same request', async () => {
    const broker = new DecisionBroker()
    const { decision } = await ask(broker)
    broker.answer('s1', 'r1', { behavior: 'deny' })
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'allow' }))).toBe('decision-answered')
    expect(await decision).toEqual({ behavior: 'deny', by: 'person' })
  })

  test('one for an unknown request, or for one of another session', async () => {
    const broker = new DecisionBroker()
    await ask(broker)
    expect(codeOf(() => broker.answer('s1', 'r9', { behavior: 'allow' }))).toBe('decision-unknown')
    expect(codeOf(() => broker.answer('s2', 'r1', { behavior: 'allow' }))).toBe('decision-unknown')
    expect(codeOf(() => broker.answer('s1","r1', '', { behavior: 'allow' }))).toBe('decision-unknown')
    expect(broker.pending()).toHaveLength(1)
  })

  test('one after the agent took the request back', async () => {
    const broker = new DecisionBroker()
    const agent = new AbortController()
    const { decision } = await ask(broker, {}, agent.signal)
    agent.abort()
    expect(await decision).toMatchObject({ behavior: 'deny', by: 'turn-end', message: expect.any(String) })
    expect(broker.pending()).toEqual([])
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'allow' }))).toBe('decision-closed')
  })

  test('one that makes no sense: the request stays open', async () => {
    const broker = new DecisionBroker()
    const { decision } = await ask(broker)
    const misspelt = { behavior: 'allow', updatedinput: { command: 'ls -l' } } as PermissionDecision
    expect(codeOf(() => broker.answer('s1', 'r1', misspelt))).toBe('decision-invalid')
    expect(broker.pending()).toHaveLength(1)
    broker.answer('s1', 'r1', { behavior: 'deny', message: 'no' })
    expect(await decision).toEqual({ behavior: 'deny', message: 'no', by: 'person' })
  })
})

describe('ends without a person', () => {
  test('by a timeout, if one is set', async () => {
    const broker = new DecisionBroker({ timeoutMs: 1 })
    const { decision } = await ask(broker)
    expect(await decision).toEqual({
      behavior: 'deny',
      message: 'Nobody answered within 0.001 s.',
      by: 'timeout',
    })
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'allow' }))).toBe('decision-closed')
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])('never by a timeout of %d', timeoutMs => {
    expect(() => new DecisionBroker({ timeoutMs })).toThrow(RangeError)
  })

  test('when the turn was over before it was asked', async () => {
    const broker = new DecisionBroker()
    expect(await broker.ask(context, request(), AbortSignal.abort())).toMatchObject({ behavior: 'deny' })
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'allow' }))).toBe('decision-closed')
  })

  test('when the session is closed', async () => {
    const broker = new DecisionBroker()
    const { decision } = await ask(broker)
    broker.closeSession('s2')
    expect(broker.pending()).toHaveLength(1)
    broker.closeSession('s1')
    expect(await decision).toMatchObject({ behavior: 'deny' })
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'allow' }))).toBe('decision-closed')
  })

  test('with a no for the second of two under one id', async () => {
    const broker = new DecisionBroker()
    const { decision } = await ask(broker)
    expect(await broker.ask(context, request(), never())).toMatchObject({ behavior: 'deny', by: 'failure' })
    broker.answer('s1', 'r1', { behavior: 'allow' })
    expect(await decision).toMatchObject({ behavior: 'allow' })
  })

  test('an id that comes again is a new request', async () => {
    const broker = new DecisionBroker()
    await ask(broker)
    broker.answer('s1', 'r1', { behavior: 'allow' })
    const { decision } = await ask(broker)
    broker.answer('s1', 'r1', { behavior: 'deny' })
    expect(await decision).toMatchObject({ behavior: 'deny' })
  })
})

describe('a policy', () => {
  const judge = (verdict: Awaited<ReturnType<PolicyJudge['judge']>>): PolicyJudge => ({
    judge: async () => verdict,
  })

  test('answers at once, and says which rule did it', async () => {
    const policies = judge({ effect: 'allow', rule: 'f:1 allow Bash' })
    const broker = new DecisionBroker({ policies })
    expect(await broker.ask(context, request(), never())).toEqual({
      behavior: 'allow',
      by: 'policy',
      rule: 'f:1 allow Bash',
    })
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'deny' }))).toBe('decision-answered')
  })

  test('denies with its rule as the reason', async () => {
    const broker = new DecisionBroker({ policies: judge({ effect: 'deny', rule: 'f:2 deny Bash' }) })
    expect(await broker.ask(context, request(), never())).toEqual({
      behavior: 'deny',
      message: 'Denied by a rule: f:2 deny Bash',
      by: 'policy',
      rule: 'f:2 deny Bash',
    })
  })

  test('that is broken is shown with the request, and told once in the session', async () => {
    const broker = new DecisionBroker({ policies: judge({ effect: 'ask', problem: 'f:3: what is this?' }) })
    const told: string[] = []
    broker.onProblem((sessionId, message) => told.push(`${sessionId} ${message}`))
    await ask(broker)
    await ask(broker, { requestId: 'r2' })
    expect(broker.pending()[0]?.policyProblem).toBe('f:3: what is this?')
    expect(told).toEqual(['s1 No rule allows anything while a policy has an error: f:3: what is this?'])
  })

  test.each([
    [undefined, 'No rule allows it, and nobody is there to ask.'],
    [
      'f:3: what is this?',
      'No rule allows it, and nobody is there to ask. No rule allows anything while a policy has an error: f:3: what is this?',
    ],
  ])('that denies without a rule because nobody can be asked says so (%s)', async (problem, message) => {
    const broker = new DecisionBroker({
      policies: judge({ effect: 'deny', ...(problem ? { problem } : {}) }),
    })
    expect(await broker.ask(context, request(), never())).toEqual({ behavior: 'deny', message, by: 'policy' })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('boom')
      },
    ],
    ['rejects', () => Promise.reject(new Error('boom'))],
  ])('that %s means no', async (_how, fail) => {
    const broker = new DecisionBroker({ policies: { judge: fail } })
    expect(await broker.ask(context, request(), never())).toEqual({
      behavior: 'deny',
      message: 'The decision failed: boom',
      by: 'failure',
    })
    expect(broker.pending()).toEqual([])
  })

  test('that says something else means no yes', async () => {
    const policies = judge({ effect: 'Allow' as 'allow' })
    await ask(new DecisionBroker({ policies }))
  })

  test('whose answer comes after the turn ended does not count', async () => {
    const agent = new AbortController()
    const policies: PolicyJudge = {
      judge: async () => {
        agent.abort()
        return { effect: 'allow' }
      },
    }
    expect(await new DecisionBroker({ policies }).ask(context, request(), agent.signal)).toMatchObject({
      behavior: 'deny',
    })
  })
})

describe('"for the session"', () => {
  /** Whether it is answered without a person. */
  const isAnswered = async (broker: DecisionBroker, changes: Partial<PermissionRequestEvent>) => {
    const { sessionId = 's1' } = changes
    const answer = broker.ask({ ...context, sessionId }, request({ requestId: 'again', ...changes }), never())
    const waits = new Promise<undefined>(resolve => broker.onChange(() => resolve(undefined)))
    const decision = await Promise.race([answer, waits])
    broker.closeSession('s2')
    if (decision === undefined && sessionId === 's1') broker.answer('s1', 'again', { behavior: 'deny' })
    return decision !== undefined
  }

  test('is kept when the agent does not keep it, for the same call only, until the session is closed', async () => {
    const broker = new DecisionBroker()
    await ask(broker)
    broker.answer('s1', 'r1', { behavior: 'allow', remember: 'session' })
    const again = await broker.ask(
      context,
      request({ requestId: 'r2', input: { command: 'ls', description: 'List' } }),
      never(),
    )
    expect(again).toEqual({ behavior: 'allow', by: 'policy', rule: 'session: allow Bash(ls)' })
    for (const other of [
      { input: { command: 'ls -l' } },
      { input: { command: 'ls', dangerouslyDisableSandbox: true } },
      { toolName: 'Write' },
      { kind: 'unknown' as const },
      { sessionId: 's2' },
    ])
      expect(await isAnswered(broker, other)).toBe(false)
    broker.closeSession('s1')
    await ask(broker, { requestId: 'r4' })
  })

  test.each([
    [[{ type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow' }], 'session'],
    [[{ type: 'setMode', mode: 'acceptEdits' }], 'session'],
    [['accept', 'acceptForSession'], 'session'],
    [['session', 'always'], 'session'],
    [['session', 'always'], 'always'],
    [[null, 3, 'accept'], 'always'],
    [[], 'session'],
  ] as const)(
    'with the suggestions %j and %s: the agent is told yes for once, and the same call is answered here',
    async (suggestions, remember) => {
      const broker = new DecisionBroker()
      const { decision } = await ask(broker, { suggestions: [...suggestions] })
      broker.answer('s1', 'r1', { behavior: 'allow', remember })
      expect(await decision).toEqual({ behavior: 'allow', by: 'person' })
      expect(await isAnswered(broker, {})).toBe(true)
    },
  )

  test('of a call of an MCP server that the agent would keep as a whole tool is this very call', async () => {
    const broker = new DecisionBroker()
    const refund = (amount: number) => ({ toolName: 'mcp__shop__refund', input: { order: 'A1', amount } })
    const { decision } = await ask(broker, { ...refund(5), suggestions: ['session', 'always'] })
    expect(broker.pending()[0]?.request.always).toEqual({
      rule: 'allow mcp__shop__refund({"amount":5,"order":"A1"})',
      words: 'this tool with exactly this input',
    })
    broker.answer('s1', 'r1', { behavior: 'allow', remember: 'session' })
    expect(await decision).toEqual({ behavior: 'allow', by: 'person' })
    expect(await isAnswered(broker, refund(5))).toBe(true)
    expect(await isAnswered(broker, refund(99_999))).toBe(false)
  })

  test('of a rule with a star is that rule', async () => {
    const broker = new DecisionBroker()
    const rules = [{ toolName: 'Bash', ruleContent: 'npm test *' }]
    const suggestions = [{ type: 'addRules', rules, behavior: 'allow' }]
    await ask(broker, { input: { command: 'npm test a' }, suggestions })
    broker.answer('s1', 'r1', { behavior: 'allow', remember: 'session' })
    expect(await isAnswered(broker, { input: { command: 'npm test b' } })).toBe(true)
    expect(await isAnswered(broker, { input: { command: 'npm test b; rm x' } })).toBe(false)
  })

  test('of an edited input means the edited one; the agent would keep a rule for what it asked', async () => {
    const broker = new DecisionBroker()
    const suggestions = [{ type: 'addRules' }]
    const { decision } = await ask(broker, { input: { command: 'rm -rf /' }, suggestions })
    broker.answer('s1', 'r1', { behavior: 'allow', updatedInput: { command: 'ls' }, remember: 'session' })
    expect(await decision).toEqual({ behavior: 'allow', updatedInput: { command: 'ls' }, by: 'person' })
    expect(await isAnswered(broker, { input: { command: 'rm -rf /' } })).toBe(false)
    expect(await isAnswered(broker, { input: { command: 'ls' } })).toBe(true)
  })

  test('of a dangerous call is not kept: the request carries its risks and no rule, whatever the agent put there', async () => {
    const broker = new DecisionBroker()
    const problems: string[] = []
    broker.onProblem((_sessionId, message) => problems.push(message))
    const claimed = { always: { rule: 'allow Bash', words: 'all' }, risks: [] }
    const { decision } = await ask(broker, { input: { command: 'rm -rf /var/x' }, ...claimed })
    const asked = broker.pending()[0]?.request
    expect(asked?.always).toBeUndefined()
    expect(asked?.risks).toEqual([
      {
        kind: 'delete',
        part: 'rm -rf /var/x',
        words:
          'Deletes /var/x with everything in it, outside the project. Going back to before this turn brings nothing back there.',
      },
    ])
    broker.answer('s1', 'r1', { behavior: 'allow', remember: 'always' })
    expect(await decision).toEqual({ behavior: 'allow', by: 'person' })
    expect(problems).toEqual([expect.stringContaining('allowed this once and not remembered')])
    expect(await isAnswered(broker, { input: { command: 'rm -rf /var/x' } })).toBe(false)
  })

  test('"always" is also written to the policies; a failed write is reported', async () => {
    const problems: string[] = []
    const told = new Promise<void>(resolve => {
      const broker = new DecisionBroker({
        policies: {
          judge: async () => ({ effect: 'ask' }),
          allowAlways: () => Promise.reject(new Error('disk full')),
        },
      })
      broker.onProblem((sessionId, message) => {
        problems.push(`${sessionId} ${message}`)
        resolve()
        throw new Error('a listener that fails')
      })
      void ask(broker).then(() => broker.answer('s1', 'r1', { behavior: 'allow', remember: 'always' }))
    })
    await told
    expect(problems).toEqual(['s1 "Always" holds for this session only: disk full'])
  })
})

test('a listener that throws, or that leaves, does not matter', async () => {
  const broker = new DecisionBroker()
  const seen: string[] = []
  broker.onChange(() => {
    throw new Error('a listener that fails')
  })
  const listener = (sessionId: string) => seen.push(sessionId)
  const stop = broker.onChange(listener)
  broker.onChange(listener)
  await ask(broker)
  stop()
  broker.answer('s1', 'r1', { behavior: 'deny' })
  expect(seen).toEqual(['s1', 's1', 's1'])
})

test('the memory of what is over has an end', async () => {
  const broker = new DecisionBroker({ policies: { judge: async () => ({ effect: 'deny', rule: 'f:1' }) } })
  for (let n = 0; n <= 4096; n += 1) await broker.ask(context, request({ requestId: `r${n}` }), never())
  expect(codeOf(() => broker.answer('s1', 'r0', { behavior: 'allow' }))).toBe('decision-unknown')
  expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'allow' }))).toBe('decision-answered')
})

test('an answer is accepted while the rules are still being read; a rule wins over it', async () => {
  for (const effect of ['ask', 'deny'] as const) {
    let judged: (verdict: { effect: typeof effect; rule?: string }) => void = () => {}
    const policies: PolicyJudge = { judge: () => new Promise(resolve => (judged = resolve)) }
    const broker = new DecisionBroker({ policies })
    const decision = broker.ask(context, request(), never())
    broker.answer('s1', 'r1', { behavior: 'allow' })
    expect(codeOf(() => broker.answer('s1', 'r1', { behavior: 'deny' }))).toBe('decision-answered')
    judged({ effect, ...(effect === 'deny' ? { rule: 'mine:1 deny Bash' } : {}) })
    expect(await decision).toMatchObject(
      effect === 'ask' ? { behavior: 'allow', by: 'person' } : { behavior: 'deny', by: 'policy' },
    )
    expect(broker.pending()).toEqual([])
  }
})
