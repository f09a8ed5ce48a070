import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { collect, expectOneEnd, run, toolOutputs } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()
const ranFile = () => path.join(world.root, 'ran')

/** How often a program of the folder ran since the last look. */
function runs(): number {
  const count = existsSync(ranFile()) ? readFileSync(ranFile(), 'utf8').length : 0
  rmSync(ranFile(), { force: true })
  return count
}

function git(folder: string, ...args: string[]): string {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: world.home, GIT_CONFIG_NOSYSTEM: '1' }
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' })
}

const program = () => `printf x >> '${ranFile()}'; tr a-z A-Z`

/** A repository whose file goes through the filter `e` as soon as there is one. Git compares its content again. */
function makeRepository(folder: string): void {
  mkdirSync(folder, { recursive: true })
  git(folder, 'init', '-q')
  writeFileSync(path.join(folder, '.gitattributes'), '*.txt filter=e\n')
  writeFileSync(path.join(folder, 'a.txt'), 'one')
  git(folder, 'add', '.')
  git(folder, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-qm', 'one')
  writeFileSync(path.join(folder, 'a.txt'), 'two')
}

describe.each(VOICES)("Codex's own git, through $voice", ({ voice }) => {
  async function turn(opts: HarnessTurnOpts = {}, commands: string[] = []) {
    const model = await world.model({ answers: commands.map(command => run(command)), otherwise: 'Done.' })
    const harness = world.harness({ model, voice, environment: { GIT_CONFIG_NOSYSTEM: '1' } })
    const options: HarnessTurnOpts = { permissionMode: 'bypassPermissions', ...opts }
    const events = await collect(harness.startTurn(world.session(), 'Go', options))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    await harness.close()
    return commands.length > 0 ? toolOutputs(model) : ''
  }

  test.each(['clean', 'process'])('runs no %s filter of a folder that is not trusted', async kind => {
    makeRepository(world.project)
    git(world.project, 'config', `filter.e.${kind}`, program())
    await turn()
    expect(runs()).toBe(0)
    await turn({ trustProject: true })
    expect(runs()).toBeGreaterThan(0)
  })

  test("runs the filter of the user's own config", async () => {
    makeRepository(world.project)
    git(world.project, 'config', '--global', 'filter.e.clean', program())
    await turn()
    expect(runs()).toBeGreaterThan(0)
  })

  test('runs no program of a submodule, of an included file or of a file monitor', async () => {
    makeRepository(world.project)
    const inner = path.join(world.project, 'inner')
    makeRepository(inner)
    git(inner, 'config', 'filter.e.clean', program())
    git(world.project, 'add', 'inner')
    const modules = '[submodule "in.ner"]\n path = inner\n url = ./inner\n ignore = none\n'
    writeFileSync(path.join(world.project, '.gitmodules'), modules)
    git(world.project, 'config', 'core.fsmonitor', program())
    writeFileSync(path.join(world.root, 'more'), `[filter "e"]\nclean = "${program()}"\n`)
    git(world.project, 'config', 'include.path', path.join(world.root, 'more'))
    runs()
    await turn()
    expect(runs()).toBe(0)
    git(world.project, '-c', 'core.fsmonitor=false', 'status', '--porcelain')
    expect(runs()).toBeGreaterThan(1)
  })

  test("leaves the folder's filter to the agent's commands", async () => {
    makeRepository(world.project)
    git(world.project, 'config', 'filter.e.clean', program())
    const said = await turn({}, [
      'git add a.txt && git show :a.txt && git config --get diff.ignoreSubmodules',
    ])
    expect(said).toContain('TWO')
    expect(said).not.toContain('GIT_CONFIG')
    expect(runs()).toBe(1)
  })
})
