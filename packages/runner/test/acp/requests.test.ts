import type { HarnessTurnOpts, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { ofType } from '../support/turns.ts'
import { useFakeAgents } from './fake-agent.ts'

// What an agent asks for in a turn, and what a turn is told while it runs.

const { arena, create, turn } = useFakeAgents()

test.each<[string, HarnessTurnOpts, string]>([
  ['allow takes the option that allows once', { decide: async () => ({ behavior: 'allow' }) }, 'p_once'],
  [
    '"always" is kept here, not by the agent',
    { decide: async () => ({ behavior: 'allow', remember: 'always' }) },
    'p_once',
  ],
  ['deny takes the option that rejects', { decide: async () => ({ behavior: 'deny' }) }, 'n_once'],
  [
    'dontAsk asks nobody',
    { permissionMode: 'dontAsk', decide: async () => ({ behavior: 'allow' }) },
    'n_once',
  ],
  ['bypassPermissions allows', { permissionMode: 'bypassPermissions' }, 'p_once'],
  [
    'a changed input does not run',
    { decide: async () => ({ behavior: 'allow', updatedInput: { command: 'rm x' } }) },
    'n_once',
  ],
  [
    'what a guard asks about is denied where nobody is asked',
    {
      permissionMode: 'dontAsk',
      decide: () => new Promise(() => {}),
      guard: { hasRules: true, judge: async () => ({ effect: 'ask', reason: 'It runs later.' }) },
    },
    'n_once',
  ],
  [
    'a guard decides in every mode',
    {
      permissionMode: 'bypassPermissions',
      guard: {
        hasRules: true,
        judge: async ({ input }) => ({ effect: 'deny', reason: String(input.command) }),
      },
    },
    'n_once',
  ],
])('permission: %s', async (_what, opts, option) => {
  const events = await turn('asks', { permissionMode: 'default', ...opts })
  expect(ofType(events, 'permission:request')).toMatchObject([
    { kind: 'tool', toolName: 'Bash', input: { command: "touch 'x y'" }, toolUseId: 'c1' },
  ])
  expect(ofType(events, 'permission:resolved')).toMatchObject([
    { outcome: option === 'n_once' ? 'denied' : 'allowed' },
  ])
  expect(ofType(events, 'chat:complete')[0]?.text).toContain(option)
})

test.each([
  ['As root', 'p_sudo'],
  ['Only in a copy', 'n_once'],
])(
  'several ways to say yes are a question with the names of the agent: %s takes %s',
  async (answer, option) => {
    const events = await turn('asks-many', {
      permissionMode: 'default',
      decide: async ({ input, facts }) => {
        expect(facts?.questions?.[0]?.options.map(({ label }) => label)).toContain('As root')
        expect(facts?.questions?.[0]?.onlyOptions).toBe(true)
        return { behavior: 'allow', updatedInput: { ...input, answers: { 'touch x': answer } } }
      },
    })
    expect(ofType(events, 'permission:request')).toMatchObject([{ kind: 'question' }])
    expect(ofType(events, 'chat:complete')[0]?.text).toContain(option)
  },
)

test('several ways to allow for longer beside one for now are decided by the mode', async () => {
  const events = await turn('asks-longer', { permissionMode: 'bypassPermissions' })
  expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'allowed' }])
  expect(ofType(events, 'chat:complete')[0]?.text).toContain('p_once')
})

test.each<[string, Record<string, string>, string]>([
  [
    'its answers become values of their types',
    { Place: 'Europe', 'How many?': '3', tags: 'a, b', again: 'No', note: 'Leave empty' },
    '{"action":"accept","content":{"place":"eu","count":3,"tags":["a","b"],"again":false}}',
  ],
  [
    'an answer that does not fit is not passed on',
    { Place: 'Europe', 'How many?': 'many', tags: 'a', again: 'Yes', note: 'x' },
    '{"action":"decline"}',
  ],
])('a form of the agent is a question with its fields: %s', async (_what, answers, result) => {
  const events = await turn('form', {
    permissionMode: 'default',
    decide: async ({ input, facts, reason }) => {
      expect(reason).toBe('Where should it go?')
      expect(
        facts?.questions?.map(({ name, options, multiSelect, onlyOptions }) => [
          name,
          options.map(({ label }) => label),
          multiSelect,
          onlyOptions,
        ]),
      ).toEqual([
        ['Place', ['Europe', 'America'], false, true],
        ['How many?', [], false, undefined],
        ['tags', ['a', 'b'], true, true],
        ['again', ['Yes', 'No'], false, true],
        ['note', ['Leave empty'], false, undefined],
      ])
      return { behavior: 'allow', updatedInput: { ...input, answers } }
    },
  })
  expect(ofType(events, 'permission:request')).toMatchObject([{ kind: 'question', toolName: 'elicitation' }])
  expect(ofType(events, 'permission:resolved')).toMatchObject([
    { outcome: result.includes('accept') ? 'allowed' : 'denied' },
  ])
  expect(ofType(events, 'chat:complete')[0]?.text).toContain(result)
})

test('a form that nobody fills in is declined, and a page elsewhere is not opened', async () => {
  const denied = await turn('form', { permissionMode: 'default', decide: async () => ({ behavior: 'deny' }) })
  expect(ofType(denied, 'chat:complete')[0]?.text).toContain('{"action":"decline"}')
  const elsewhere = await turn('form-elsewhere')
  expect(ofType(elsewhere, 'native:unknown')).toMatchObject([{ nativeType: 'elicitation/create' }])
  expect(ofType(elsewhere, 'chat:complete')[0]?.text).toContain('file: -32601')
})

test('a request that the agent takes back is not left open, and answered as cancelled', async () => {
  const decide = () => new Promise<never>(() => {})
  const events = await turn('withdraws', { permissionMode: 'default', decide })
  expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled', by: 'agent' }])
  expect(ofType(events, 'chat:complete')[0]?.text).toContain('error -32800')
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
})

test('files and terminals of ours are not offered, and the request is shown', async () => {
  const events = await turn('files')
  expect(ofType(events, 'native:unknown').map(({ nativeType }) => nativeType)).toEqual([
    'fs/read_text_file',
    'terminal/create',
  ])
  expect(ofType(events, 'chat:complete')[0]?.text).toContain('file: -32601 terminal: -32601')
})

// The second one reacts with more than is kept unread, so a part of it has to be shown earlier. The third one takes the
// message only after its request is answered.
test.each(['steers', 'steers-much', 'steers-asking'])(
  'a message goes into the running turn, and is told once: %s',
  async behaviour => {
    // Nothing is known of it but what it announces.
    const harness = create(behaviour)
    expect(harness.capabilities().supportsSteering).toBe(false)
    const session = arena.session()
    const decide: HarnessTurnOpts['decide'] = async () => ({ behavior: 'allow' })
    const events: UIEvent[] = []
    let steering: Promise<boolean> | undefined
    for await (const event of harness.startTurn(session, 'Hi', { permissionMode: 'default', decide })) {
      events.push(event)
      if (event.type === 'chat:delta' && event.text === 'Hello. ')
        steering = harness.steer?.(session.id, 'And the walrus?')
    }
    expect(await steering).toBe(true)
    const told = events.findIndex(event => event.type === 'status' && event.data?.text === 'And the walrus?')
    const reaction = events.findIndex(event => event.type === 'chat:delta' && event.text.includes('walrus'))
    expect(told).toBeGreaterThan(-1)
    if (behaviour !== 'steers-much') expect(reaction).toBeGreaterThan(told)
    expect(ofType(events, 'status').filter(({ data }) => data?.kind === 'user_message')).toHaveLength(1)
    expect(ofType(events, 'chat:complete')[0]?.text).toContain('And the walrus?')
    expect(harness.capabilities().supportsSteering).toBe(true)
    const silent = create('good')
    for await (const _ of silent.startTurn(arena.session(), 'Hi'));
    expect(silent.steer).toBeUndefined()
  },
)
