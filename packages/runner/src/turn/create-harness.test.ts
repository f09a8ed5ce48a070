import type { HarnessCapabilities, HarnessMeta, Session } from '@chirality/core'
import { expect, test, vi } from 'vitest'
import { createHarness, type HarnessAgent, type NewTurn } from './create-harness.ts'

const META: HarnessMeta = { id: 'echo', name: 'Echo', vendor: 'Nobody', website: 'https://example.org' }
const NOTHING: HarnessCapabilities = {
  supportsSystemPrompt: false,
  supportsAppendSystemPrompt: false,
  supportsReadOnly: false,
  supportsMcp: false,
  supportsResume: false,
  supportsFork: false,
  supportsForkAt: false,
  supportsClientTools: false,
  supportsStreamingTokens: false,
  supportsCostTracking: false,
  supportsNamedTools: false,
  supportsImages: false,
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: false,
  supportsBudget: false,
}
const SESSION: Session = { id: 's1', projectRoot: '/tmp', claudeSessionId: null } as Session

function agent(more: Partial<HarnessAgent> = {}): HarnessAgent {
  return {
    meta: META,
    models: [],
    capabilities: NOTHING,
    installStatus: async () => ({ installed: true, authType: 'none', authenticated: true }),
    async *query() {},
    plan: () => {
      throw new Error('planned')
    },
    ...more,
  }
}

test('a harness offers only what its agent describes, and its capabilities say the same', async () => {
  const bare = createHarness(agent())
  expect(bare.capabilities()).toMatchObject({ supportsPrewarm: false, supportsSteering: false })
  const { prewarm, steer, adoptTurn, setPermissionMode, contextUsage, listNativeSessions, importSession } =
    bare
  const offered = [
    prewarm,
    steer,
    adoptTurn,
    setPermissionMode,
    contextUsage,
    listNativeSessions,
    importSession,
  ]
  expect(offered.filter(method => method !== undefined)).toEqual([])
  expect(await bare.discoverSlashCommands('/tmp')).toEqual([])

  const capabilities = { ...NOTHING, supportsSteering: true, supportsPrewarm: true }
  const full = createHarness(agent({ capabilities, prewarm: async () => {} }))
  expect(full.capabilities()).toMatchObject({ supportsPrewarm: true, supportsSteering: true })
  expect(full.prewarm).toBeDefined()
  expect(() => createHarness(agent({ capabilities }))).toThrow('echo supports prewarm')
  expect(await full.steer?.('s1', 'hello')).toBe(false)
})

test('a turn with permission requests is refused by an agent that cannot send them', async () => {
  const harness = createHarness(agent())
  const decide = async () => ({ behavior: 'allow' }) as const
  await expect(harness.startTurn(SESSION, 'hi', { decide }).next()).rejects.toMatchObject({
    code: 'unsupported',
    message: 'decide: Echo asks nobody in this form.',
  })
  await expect(harness.startTurn(SESSION, 'hi').next()).rejects.toThrow('planned')
  expect(harness.isRunning('s1')).toBe(false)
})

test('a mode that was set holds for turns that name none, until the session is released', async () => {
  const plan = vi.fn((_turn: NewTurn) => {
    throw new Error('planned')
  })
  const harness = createHarness(agent({ plan, setMode: async () => {} }))
  await harness.setPermissionMode?.('s1', 'plan')
  for (const opts of [{}, { permissionMode: 'acceptEdits' as const }])
    await expect(harness.startTurn(SESSION, 'hi', opts).next()).rejects.toThrow('planned')
  await harness.release('s1')
  await expect(harness.startTurn(SESSION, 'hi').next()).rejects.toThrow('planned')
  expect(plan.mock.calls.map(([{ query }]) => query.permissionMode)).toEqual([
    'plan',
    'acceptEdits',
    'dontAsk',
  ])
})

test('interrupting the session cancels a start ahead of the turn without an error', async () => {
  const given: AbortSignal[] = []
  const prewarm: HarnessAgent['prewarm'] = async (_turn, signal) => {
    given.push(signal)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const harness = createHarness(agent({ prewarm, capabilities: { ...NOTHING, supportsPrewarm: true } }))
  const ahead = harness.prewarm?.(SESSION)
  await harness.kill('other')
  expect(given[0]?.aborted).toBe(false)
  harness.interrupt('s1')
  await ahead
  expect(given[0]?.aborted).toBe(true)
})
