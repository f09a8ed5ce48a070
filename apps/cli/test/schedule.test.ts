import { existsSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { createWorld } from './support/world.ts'

test('a scheduled list keeps the commands that were allowed, is edited, and a loop goes on with exactly an allowed one', async () => {
  const world = await createWorld({ answers: [] })
  const { project } = world
  const repository = initRepository(project)
  // The set-up holds on the loop's branch and fails in the worktrees of tasks: no agent is needed.
  const setUp = 'case $PWD in */loop-*) ;; *) exit 3 ;; esac'
  const list = (check: string) => `---\nsetup: ${setUp}\n---\n- [ ] One\n  checks: ${check}\n`
  repository.write('TASKS.md', list('npm test'))
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const home = path.join(world.home, 'chirality')
  const server = world.start(['serve', '--json', '--port', '0', '--project', project], {
    env: { CHIRALITY_HOME: home },
  })
  await server.shows('\n')
  const asked = (...args: string[]) => world.start(args, { env: { CHIRALITY_HOME: home } }).result()
  const add = ['schedule', 'add', '--loop', 'TASKS.md', '--name', 'Tasks', '--project', project]
  const added = await asked(...add, '--every', '6h', '--keep-runs', '3', '--budget', '5', '--json')
  expect(JSON.parse(added.stdout)).toMatchObject({
    ...{ keepRuns: 3, budgetUsd: 5, when: { kind: 'every', minutes: 360 } },
    what: { kind: 'loop', list: 'TASKS.md', commands: [setUp, 'npm test'] },
  })
  expect(added.stderr).toContain(`may use these commands and no others:\n    ${setUp}\n    npm test\n`)
  for (const [args, code, words] of [
    [['--harness', 'codex'], 2, '--harness is for a prompt'],
    [['--keep-runs', '0'], 2, 'from 1 to 50'],
    [['--allow', 'Bash'], 2, '--allow is for a prompt'],
    [['--hand-over', 'Not An Agent'], 2, '--hand-over must be names of agents'],
    [['--cron', 'often'], 1, 'five cron fields'],
    [['--project', project], 2, 'cannot be changed'],
  ] as const) {
    const refused = await asked('schedule', 'edit', 'Tasks', ...args)
    expect({ args, code: refused.code }).toEqual({ args, code })
    expect(refused.stderr).toContain(words)
  }
  const prompt = ['schedule', 'add', 'Look at it.', '--name', 'Look', '--project', project]
  const times = ['--cron', '0 6 * * *', '--zone', 'Asia/Tokyo']
  const looks = await asked(...prompt, ...times, '--allow', 'Bash(npm test),Edit', '--json')
  expect(JSON.parse(looks.stdout).what).toMatchObject({ allow: ['Bash(npm test)', 'Edit'] })
  const listed = await asked('schedule', 'list')
  expect(listed.stdout).toMatch(/ · Look · next \d{4}-\d\d-\d\d 06:00 Asia\/Tokyo\n/)
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone
  expect(listed.stdout).toContain(`${here}\n`)
  // A terminal would show only its first words.
  const touch = `touch ${path.join(world.home, 'ran')}`
  const hostile = `${touch} \u001b]0;./evil.sh;:\u0007`
  const shown = `    ${touch} \\u{1b}]0;./evil.sh;:\\u{7}\n`
  repository.write('TASKS.md', list(hostile))
  const change = ['--budget', 'none', '--hand-over', 'off', '--keep-runs', '7', '--name', 'Nightly']
  const edited = JSON.parse((await asked('schedule', 'edit', 'Tasks', ...change, '--json')).stdout)
  expect(edited).toMatchObject({
    ...{ name: 'Nightly', keepRuns: 7, when: { kind: 'every', minutes: 360 } },
    what: { nextHarnesses: [], commands: [setUp, 'npm test'] },
  })
  expect(edited).not.toHaveProperty('budgetUsd')
  const allowed = await asked('schedule', 'edit', 'Nightly', '--allow-commands', '--json')
  expect(JSON.parse(allowed.stdout).what).toMatchObject({ commands: [setUp, hostile] })

  const details = await asked('schedule', 'show', 'Nightly')
  expect(details.stdout).toContain(`may use these commands and no others:\n    ${setUp}\n${shown}`)

  // A loop that was started with other commands.
  repository.write('TASKS.md', list('npm test'))
  const run = await asked('loop', 'run', 'TASKS.md', '--allow-dirty', '--project', project)
  expect(run.stdout).toContain(`Runs without asking:\n    ${setUp}\n    npm test\n`)
  repository.write('TASKS.md', `${list('npm test')}- [ ] Two\n  checks: ${hostile}\n`)
  const resume = (...args: string[]) => asked('loop', 'resume', '--project', project, ...args)
  const parked = await resume()
  expect(parked.stdout).toContain('two needs you (commands): It runs a command that nobody allowed')
  expect(parked.stdout).toContain(shown.trim())
  expect((await asked('loop', 'report', '--project', project)).stdout).toContain(shown.trim())
  expect((await asked('loop', 'status', '--project', project)).stdout).toContain("--allow '…'")
  const other = await resume('--allow', 'touch other')
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('No parked task')])
  const went = await resume('--allow', hostile)
  expect(went.stdout).toContain(`allowed:\n${shown}`)
  expect(went.stdout).toContain('two needs you (error): The set-up failed')
  expect(existsSync(path.join(world.home, 'ran'))).toBe(false)
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})
