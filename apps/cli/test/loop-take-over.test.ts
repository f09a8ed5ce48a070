import { readFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import type { Script } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { BIN, createWorld, type World } from './support/world.ts'

async function listWorld(
  script: Script,
  tasks: string,
): Promise<World & { repository: Repository; list(): string }> {
  const world = await createWorld(script)
  const repository = initRepository(world.project)
  repository.write('README.md', 'A project.\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  repository.write('TASKS.md', tasks)
  return { ...world, repository, list: () => readFileSync(path.join(world.project, 'TASKS.md'), 'utf8') }
}

const bash = (command: string) => ({ tool: 'Bash', input: { command } })

test('a list is shown as it is read, its work is taken over and taken back by commands, and money has a stated limit', async () => {
  const world = await listWorld(
    {
      routes: [
        {
          when: { conversationContains: '## Task\n\nUS-001' },
          answers: [bash('echo one > one.txt')],
          otherwise: 'Done.',
        },
        {
          when: { conversationContains: '## Task\n\nSecond' },
          answers: [bash('echo two > two.txt')],
          otherwise: 'Done.',
        },
        { when: { conversationContains: '## Task\n\nNever' }, answers: [], otherwise: 'I did nothing.' },
      ],
      otherwise: 'A title.',
    },
    [
      ...['---', 'title: A plan', '---', '# PRD', '## US-001: First', 'checks: grep -q one one.txt'],
      ...['### Acceptance criteria', '- [ ] A file', '- [ ] Typecheck passes', '## Rest'],
      ...['1. [ ] Second', '   priority: high', '   checks: grep -q two two.txt', '- [ ] Never', ''],
    ].join('\n'),
  )
  const preview = await world.run(['loop', 'run', 'TASKS.md', '--dry-run'])
  expect(preview).toMatchObject({ code: 0, stderr: '' })
  expect(preview.stdout).toContain(
    '3 tasks to do, by line:\n  5: US-001: First · 1 check\n  11: Second · 1 check\n',
  )
  expect(preview.stdout).toContain('Note: TASKS.md:2: title: not used by a loop')
  expect(preview.stdout).toContain('Note: TASKS.md:12: "priority:" is no key of a task')
  expect((await world.run(['loop', 'status'])).stderr).toContain('This project has no loop.')

  const run = await world.run(['loop', 'run', 'TASKS.md', '--max-iterations', '3'])
  expect(run.code).toBe(5)
  expect(run.stdout).toContain('Budget: $20.00, because the list names none.')
  const { loopId: id } = JSON.parse((await world.run(['loop', 'status', '--json'])).stdout)
  expect(run.stdout).toContain(`on the branch chirality/loop-tasks. Merge it: chirality loop accept ${id}`)
  expect(world.list()).toContain('- [x] A file\n- [x] Typecheck passes\n')
  const budget = JSON.parse(
    readFileSync(path.join(world.project, '.chirality', 'loops', id, 'budget.json'), 'utf8'),
  )
  expect(budget).toMatchObject({ max_cost_usd: 20 })
  // Begun and not over is to go, in both.
  const [status, report] = [await world.run(['loop', 'status']), await world.run(['loop', 'report'])]
  expect(status.stdout).toContain(' · 1 to go\n')
  expect(report.stdout).toContain(' · 1 to go\n')
  for (const { stdout } of [status, report])
    expect(stdout).toContain('last attempt: No file was changed, and the task needs a change.')
  expect(report.stdout).toContain('- Branch: chirality/loop-tasks (worktree loop-')
  expect(report.stdout).toContain(`\`chirality loop accept ${id}\`, or \`git merge chirality/loop-tasks\``)

  const unnamed = await world.run(['loop', 'revert'])
  expect(unnamed).toMatchObject({ code: 2, stdout: '' })
  const reverted = await world.run(['loop', 'revert', id, '--task', 'second'])
  expect({ code: reverted.code, stderr: reverted.stderr }).toEqual({ code: 0, stderr: '' })
  expect(world.list()).toContain('1. [ ] Second')
  expect(world.repository.run('ls-tree', '--name-only', 'chirality/loop-tasks')).not.toContain('two.txt')
  const accepted = await world.run(['loop', 'accept', id])
  expect({ code: accepted.code, stderr: accepted.stderr }).toEqual({ code: 0, stderr: '' })
  expect(accepted.stdout).toMatch(/^1 task merged into main at [0-9a-f]{10}: us-001-first\n$/)
  expect(readFileSync(path.join(world.project, 'one.txt'), 'utf8')).toBe('one\n')
  const twice = await world.run(['loop', 'accept', id])
  expect(twice).toMatchObject({ code: 1, stdout: '' })
  expect(twice.stderr).toContain('This loop has no proved task that main lacks.')
}, 600_000)

/** The command on a terminal of its own. */
function onTerminal(world: World, args: string[]) {
  const words = [process.execPath, BIN, ...args].map(word => `'${word}'`)
  const isLinux = process.platform === 'linux'
  const options = isLinux
    ? ['-qec', words.join(' '), '/dev/null']
    : ['-q', '/dev/null', 'sh', '-c', words.join(' ')]
  return world.start(options, { program: 'script', keepsInput: true })
}

test('the budget of loops that name none is asked for once on a terminal', async () => {
  const world = await listWorld({ otherwise: 'Done.' }, '- [ ] Never\n')
  world.repository.write('OTHER.md', '- [ ] Never, too\n')
  const run = (list: string) => ['loop', 'run', list, '--max-iterations', '1', '--allow-dirty']
  const odd = onTerminal(world, run('TASKS.md'))
  await odd.shows('How many dollars')
  odd.write('much')
  expect((await odd.result()).stdout).toContain('Nothing was started.')
  const first = onTerminal(world, run('TASKS.md'))
  await first.shows('How many dollars')
  first.write('3.5')
  expect((await first.result()).stdout).toContain('Budget: $3.50, because the list names none.')
  const second = await world.run(run('OTHER.md'))
  expect(second.stdout).toContain('Budget: $3.50, because the list names none.')
  const none = await world.run(['loop', 'resume', '--budget', 'none', '--max-iterations', '2'])
  expect(none.code).not.toBe(2)
  const { loopId } = JSON.parse((await world.run(['loop', 'status', '--json'])).stdout.split('\n')[0] ?? '')
  const file = path.join(world.project, '.chirality', 'loops', loopId, 'budget.json')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ max_cost_usd: null })
}, 600_000)
