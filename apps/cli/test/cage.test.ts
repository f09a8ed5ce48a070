import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { cageHere, claudeVersions } from '@chirality/fixtures'
import { userDataFolder } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

const { environment, refusal } = cageHere()
const LOOK = { answers: [{ tool: 'Bash', input: { command: 'ls -A ~; echo made > made' } }, 'Done.'] }

describe.each(claudeVersions())('chirality run --cage with Claude Code $version', ({ path: binary }) => {
  const env = { CHIRALITY_CLAUDE_BIN: binary, ...environment }

  test('runs the turn in a cage and logs how it held, or does not run it', async () => {
    const { run, project, model } = await createWorld(LOOK)
    const { code, stdout, stderr } = await run(
      ['run', 'Look', '--allow', 'Bash', '--cage', 'required', '--json'],
      { env },
    )
    if (refusal !== undefined) {
      expect(`${stdout}${stderr}`).toMatch(refusal)
      expect(code).toBe(2)
      return expect(model.requests).toEqual([])
    }
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const events = jsonLines(stdout).map(({ event }) => event)
    const caged = events.filter(event => event.type === 'status' && event.status === 'caged')
    expect(caged).toMatchObject([{ message: 'Caged: 11 of 11 held' }])
    expect(readFileSync(path.join(project, 'made'), 'utf8')).toBe('made\n')
  })

  test('the cage of the project counts for each turn, and nothing lowers it', async () => {
    const world = await createWorld({ answers: [], otherwise: 'Hello.' })
    const set = await world.run(['cage', 'on'], { env })
    expect(set.stdout).toContain('Every agent of this project runs in a cage')
    expect(JSON.parse((await world.run(['cage', '--json'], { env })).stdout)).toMatchObject({ cage: 'on' })
    const { stdout, stderr } = await world.run(['run', 'Hi', '--cage', 'off', '--json'], { env })
    if (refusal === undefined) expect(stdout).toContain('Caged: 11 of 11 held')
    else expect(`${stdout}${stderr}`).toMatch(refusal)
  })
})

test('a level that does not exist is refused by the name that the help gives it', async () => {
  const { run } = await createWorld({ answers: [] })
  const { code, stderr } = await run(['cage', 'sometimes'])
  expect(code).toBe(2)
  expect(stderr).toContain('chirality: LEVEL must be one of off, on, required, not "sometimes".')
})

test('an agent that cannot be caged does not start, and a damaged setting starts no agent', async () => {
  const world = await createWorld({ answers: [], otherwise: 'Hello.' })
  const codex = await world.run(['run', 'Hi', '--harness', 'codex', '--cage', 'on'])
  expect(codex.code).toBe(2)
  expect(`${codex.stdout}${codex.stderr}`).toContain('Codex cannot run in a cage yet')
  await world.run(['cage', 'required'])
  const folder = path.join(userDataFolder(world.env), 'cages')
  const [name = ''] = readdirSync(folder)
  writeFileSync(path.join(folder, name), '{"cage":"of')
  const damaged = await world.run(['run', 'Hi'])
  expect(damaged.code).not.toBe(0)
  expect(damaged.stderr).toContain('no agent is started')
  const doctor = await world.run(['doctor', '--json'])
  expect(jsonLines<{ check: string }>(doctor.stdout).find(({ check }) => check === 'cage')).toMatchObject({
    ok: false,
  })
  await world.run(['cage', 'off'])
  expect((await world.run(['run', 'Hi'])).code).toBe(0)
  expect(world.model.requests.length).toBeGreaterThan(0)
})
