import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { cageHere, claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { collect, ofType, statuses } from '../claude-code/support/events.ts'
import { useWorld } from '../claude-code/support/world.ts'

const world = useWorld()
const here = cageHere()

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
})
