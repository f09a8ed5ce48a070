import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts } from '@chirality/core'
import { cageHere, claudeBinary, claudeVersions } from '@chirality/fixtures'
import { claudeEnv } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { AgentSdkHarness } from '../../src/agent-sdk/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { collect, ofType, statuses } from '../claude-code/support/events.ts'
import { useWorld } from '../claude-code/support/world.ts'

const world = useWorld()
const here = cageHere()

test('the agent of the Agent SDK runs in a cage, or not at all', async () => {
  const command = 'ls -A ~/.ssh; env; echo made > made-inside'
  mkdirSync(path.join(world.home, '.ssh'))
  writeFileSync(path.join(world.home, '.ssh', 'the-private-key'), '')
  const model = await world.model({ answers: [{ tool: 'Bash', input: { command } }, 'Done.'] })
  const environment = {
    ...claudeEnv(model, world.home),
    [MARKER_VARIABLE]: world.marker,
    ...here.environment,
  }
  const harness = new AgentSdkHarness({ binaryPath: claudeBinary(), environment })
  world.atEnd(() => harness.close())
  const turn = harness.startTurn(world.session(), 'Look', { autoApproveTools: ['Bash'], cage: 'required' })
  if (here.refusal !== undefined) return expect(collect(turn)).rejects.toThrow(here.refusal)
  const events = await collect(turn)
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  expect(statuses(events, 'caged')).toMatchObject([{ message: 'Caged: 11 of 11 held' }])
  expect(ofType(events, 'tool:result')[0]?.content).not.toMatch(/the-private-key|sk-scripted-model/)
  expect(existsSync(path.join(world.project, 'made-inside'))).toBe(true)
  expect(model.requests.every(({ headers }) => headers['x-api-key'] === 'sk-scripted-model')).toBe(true)
})

describe.each(claudeVersions())('Claude Code $version in a cage', ({ path: binary }) => {
  test('reaches the project and its model, and nothing of the home folder, or does not start', async () => {
    const secret = path.join(world.home, '.ssh', 'id_ed25519')
    mkdirSync(path.dirname(secret))
    writeFileSync(secret, 'the-private-key')
    const command = `cat ${secret}; echo made > made-inside; env; echo out > ${world.home}/made-outside; ls -A ~`
    const model = await world.model({ answers: [{ tool: 'Bash', input: { command } }, 'Done.'] })
    const harness = world.harness(binary, { model, environment: here.environment })
    const session = world.session()
    const turn = harness.startTurn(session, 'Look around', { autoApproveTools: ['Bash'], cage: 'required' })
    if (here.refusal !== undefined) {
      await expect(collect(turn)).rejects.toThrow(here.refusal)
      return expect(model.requests).toEqual([])
    }
    const events = await collect(turn)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(statuses(events, 'caged')).toMatchObject([{ message: 'Caged: 11 of 11 held' }])
    const [result] = ofType(events, 'tool:result')
    expect(result?.content).not.toContain('the-private-key')
    expect(result?.content).not.toContain('sk-scripted-model')
    expect(readFileSync(path.join(world.project, 'made-inside'), 'utf8')).toBe('made\n')
    expect(existsSync(path.join(world.home, 'made-outside'))).toBe(false)
    // The model got the real key, which the agent never had.
    const keys = model.requests.map(({ headers }) => headers['x-api-key'])
    expect(new Set(keys)).toEqual(new Set(['sk-scripted-model']))
  })

  test('a login of `claude auth login` works inside, and its tokens are not there', async () => {
    const [token, refresh] = ['sk-ant-oat01-the-real-one', 'sk-ant-ort01-the-real-one']
    login({ accessToken: token, refreshToken: refresh, expiresAt: Date.now() + 3_600_000 })
    const command = 'cat ~/.claude/.credentials.json; env'
    const model = await world.model({ answers: [{ tool: 'Bash', input: { command } }, 'Done.'] })
    const environment = { ...here.environment, ANTHROPIC_API_KEY: undefined }
    const harness = world.harness(binary, { model, environment })
    const opts: HarnessTurnOpts = { autoApproveTools: ['Bash'], cage: 'required' }
    const turn = harness.startTurn(world.session(), 'Look', opts)
    if (here.refusal !== undefined) return expect(collect(turn)).rejects.toThrow(here.refusal)
    const events = await collect(turn)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    const shown = ofType(events, 'tool:result')[0]?.content ?? ''
    expect(shown).toContain('sk-ant-oat01-caged-')
    expect(shown).not.toMatch(/the-real-one/)
    const sent = new Set(model.requests.map(({ headers }) => headers.authorization))
    expect(sent).toEqual(new Set([`Bearer ${token}`]))
  })

  test('a login that the cage cannot keep out of reach is refused with what to do', async () => {
    const model = await world.model({ answers: [], otherwise: 'Never.' })
    const turn = (cage: 'on' | 'required', environment = {}) => {
      const harness = world.harness(binary, { model, environment: { ...here.environment, ...environment } })
      return collect(harness.startTurn(world.session(), 'Hi', { cage }))
    }
    const refusal = (text: string) => new RegExp(`${here.refusal?.source ?? text}|${text}`)
    writeFileSync(settings(), JSON.stringify({ apiKeyHelper: 'echo a-key' }))
    await expect(turn('on')).rejects.toThrow(/apiKeyHelper/)
    writeFileSync(settings(), JSON.stringify({ env: { MY_TOKEN: 'a-token' } }))
    await expect(turn('required')).rejects.toThrow(/MY_TOKEN/)
    writeFileSync(settings(), '{')
    await expect(turn('required')).rejects.toThrow(/cannot be read/)
    await expect(turn('on', { CLAUDE_CODE_USE_BEDROCK: '1' })).rejects.toThrow(
      /USE_BEDROCK.*turn the cage off/,
    )
    login({ accessToken: 'x', refreshToken: 'y', expiresAt: Date.now() })
    await expect(turn('on', { ANTHROPIC_API_KEY: undefined })).rejects.toThrow(
      /has to be renewed.*Start `claude` once/,
    )
    await expect(turn('on', { HTTPS_PROXY: 'http://127.0.0.1:9' })).rejects.toThrow(
      refusal('through a proxy'),
    )
    expect(model.requests).toEqual([])
  })

  function login(claudeAiOauth: object): void {
    const scopes = ['user:inference', 'user:profile']
    const login = { ...claudeAiOauth, scopes, subscriptionType: 'max' }
    writeFileSync(
      path.join(path.dirname(settings()), '.credentials.json'),
      JSON.stringify({ claudeAiOauth: login }),
    )
  }

  function settings(): string {
    mkdirSync(path.join(world.home, '.claude'), { recursive: true })
    return path.join(world.home, '.claude', 'settings.json')
  }
})
