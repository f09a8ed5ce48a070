import { existsSync } from 'node:fs'
import path from 'node:path'
import { claudeEnv } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { AgentSdkHarness } from '../../src/agent-sdk/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { collect, ofType } from '../support/turns.ts'
import { useBareWorld } from '../support/world.ts'
import { installed } from './installed.ts'

describe.each(installed('claude-agent-sdk'))('Agent SDK $version', ({ path: sdkPath }) => {
  const world = useBareWorld('agent-sdk')
  const TOUCH = { tool: 'Bash', input: { command: 'touch made.txt', description: 'x' } }

  test.each([
    ['allow', true],
    ['deny', false],
  ] as const)('%s reaches the agent', async (behavior, isMade) => {
    const model = await world.model({ answers: [TOUCH], otherwise: 'Done.' })
    const environment = { ...claudeEnv(model, world.home), [MARKER_VARIABLE]: world.marker }
    const harness = new AgentSdkHarness({ sdkPath, environment })
    world.atEnd(() => harness.close())
    const decide = async () => ({ behavior, message: 'Not on a Monday.' })
    const events = await collect(
      harness.startTurn(world.session(), 'go', { permissionMode: 'default', decide }),
    )
    expect(ofType(events, 'permission:resolved')).toHaveLength(1)
    expect(existsSync(path.join(world.project, 'made.txt'))).toBe(isMade)
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
  })
})
