import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import type { Script } from '@chirality/scripted-model'
import { userDataFolder } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import * as command from './support/running-command.ts'
import { createWorld, type World } from './support/world.ts'

interface LoopWorld extends World {
  repository: Repository
  list(): string
  loopFile(id: string, ...parts: string[]): string
}

async function loopWorld(script: Script, tasks: string): Promise<LoopWorld> {
  const world = await createWorld(script)
  const repository = initRepository(world.project)
  repository.write('README.md', 'A project.\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  repository.write('TASKS.md', tasks)
  return {
    ...world,
    repository,
    list: () => readFileSync(path.join(world.project, 'TASKS.md'), 'utf8'),
    loopFile: (id, ...parts) => path.join(world.project, '.chirality', 'loops', id, ...parts),
  }
}

/** Lines of another shape than those of a run. */
const jsonLines = (text: string) => command.jsonLines(text) as unknown as Record<string, string>[]

const bash = (command: string) => ({ tool: 'Bash', input: { command } })

describe('chirality loop', () => {
  test('proves a task with a real agent: ticked, merged on its branch, with a receipt that holds', async () => {
    const world = await loopWorld(
      { answers: [bash('echo hello > hello.txt'), 'Done.'] },
      '# List\n\n- [ ] Say hello\n  checks: grep -q hello hello.txt\n',
    )
    const { code, stdout, stderr } = await world.run(['loop', 'run', 'TASKS.md', '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const entries = jsonLines(stdout)
    expect(entries.at(-1)).toMatchObject({ type: 'loop:end', reason: 'done' })
    expect(world.list()).toBe('# List\n\n- [x] Say hello\n  checks: grep -q hello hello.txt\n')
    // Only the list changed in the project; the work is on the branch of the loop.
    expect(existsSync(path.join(world.project, 'hello.txt'))).toBe(false)
    expect(world.repository.run('show', 'chirality/loop-tasks:hello.txt')).toBe('hello\n')
    const id = String(jsonLines((await world.run(['loop', 'status', '--json'])).stdout)[0]?.loopId)
    const receipt = world.loopFile(id, 'receipts', 'say-hello.json')
    expect(JSON.parse(readFileSync(receipt, 'utf8'))).toMatchObject({
      task: { id: 'say-hello' },
      harness: 'claude-code',
      diff: { files: 1, insertions: 1, deletions: 0 },
      checks: [{ command: 'grep -q hello hello.txt', exitCode: 0 }],
      iterations: 1,
    })
    const verified = await world.run(['loop', 'verify', receipt])
    expect(verified).toMatchObject({ code: 0 })
    expect(verified.stdout).toContain('"Say hello" holds at ')
    expect((await world.run(['loop', 'verify', 'say-hello'])).stdout).toBe(verified.stdout)
    const report = await world.run(['loop', 'report'])
    expect(report.stdout).toContain('1 proved · 0 need you · 0 not proved · 0 to go')
    const state = readFileSync(path.join(world.project, '.chirality', 'state', 'claude-session.json'), 'utf8')
    expect(JSON.parse(state)).toMatchObject({ coder_session_id: expect.any(String) })
    const budget = JSON.parse(readFileSync(world.loopFile(id, 'budget.json'), 'utf8'))
    expect(budget).toMatchObject({ iterations: 1, max_iterations: null, max_cost_usd: 20 })
    // An agent can write a receipt: it allows no command, also if it names a loop by a path to a record of its own.
    const real = readFileSync(receipt, 'utf8')
    const trap = path.join(world.project, 'trap')
    const check = `touch ${trap}; grep -q nothing hello.txt`
    const written = real.replace('grep -q hello hello.txt', check)
    const record = path.join(world.project, 'record')
    writeFileSync(record, JSON.stringify({ project: world.project, allowed: [check] }))
    const named = path.relative(path.join(userDataFolder(world.env), 'loops'), record)
    // Of a loop in the data folder the commands are those of its journal, and what differs is named.
    writeFileSync(receipt, written)
    const changed = await world.run(['loop', 'verify', receipt])
    expect(changed).toMatchObject({ code: 1 })
    expect(changed.stdout).toMatch(/^✓ journal .*\n✗ signature .*\n✗ receipt .*: checks\.\n/)
    expect(existsSync(trap)).toBe(false)
    expect((await world.run(['loop', 'report'])).stdout).toContain(
      'The copy of its files in the project differs from the original, which counts: receipts/say-hello.json.',
    )
    writeFileSync(receipt, written.replace(`"loop": "${id}"`, `"loop": "${named}"`))
    const refused = await world.run(['loop', 'verify', receipt])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('a command that nobody allowed for this loop: `touch ')
    expect(refused.stderr).toContain('--allow')
    expect(existsSync(trap)).toBe(false)
    // Allowed by a person it runs, and says what it says.
    const allowed = await world.run(['loop', 'verify', receipt, '--allow', check])
    expect(allowed).toMatchObject({ code: 1 })
    expect(allowed.stdout).toContain('does not hold')
    expect(existsSync(trap)).toBe(true)
    writeFileSync(receipt, real)
    const other = await world.run(['loop', 'verify', 'say-hello', '--allow', 'true'])
    expect(other).toMatchObject({ code: 1, stdout: '' })
    expect(other.stderr).toContain('has no command `true`')
  }, 600_000)

  test('what is not proved is not ticked: lies, broken checks, deleted tests, questions, budgets, conflicts', async () => {
    const named = (word: string, answers: Script['answers']) => ({
      when: { conversationContains: `## Task\n\n${word}` },
      answers: answers ?? [],
      otherwise: 'I am done.',
    })
    const question = {
      question: 'Which one?',
      header: 'One',
      options: [
        { label: 'a', description: 'a' },
        { label: 'b', description: 'b' },
      ],
      multiSelect: false,
    }
    const world = await loopWorld(
      {
        routes: [
          named('Say left', [bash('echo left > side.txt')]),
          named('Say right', [bash('echo right > side.txt')]),
          named('Two tries', [bash('echo one > try.txt'), 'Done.', bash('echo two > try.txt'), 'Done.']),
          named('Only words', ['I have done it.', 'I have really done it.']),
          named('Mend the tests', [bash('rm tests/b.test.sh')]),
          named('Ask first', [{ tool: 'AskUserQuestion', input: { questions: [question] } }]),
          named('Too dear', ['I begin.']),
        ],
      },
      [
        ...['---', 'parallel: 2', 'max_failures: 9', 'checks: test -f README.md', '---'],
        ...['- [ ] Say left', '- [ ] Say right'],
        ...['- [ ] Two tries', '  checks: grep two try.txt'],
        ...[
          '- [ ] Only words',
          '- [ ] Mend the tests',
          '  checks: for t in tests/*.sh; do sh $t || exit 1; done',
        ],
        ...['- [ ] Ask first', '- [ ] Too dear', '  budget_tokens: 1', '- [ ] No agent', '  harness: nobody'],
        ...['- [ ] After the lie', '  depends_on: Only words', ''],
      ].join('\n'),
    )
    world.repository.write('tests/a.test.sh', 'exit 0\n')
    world.repository.write('tests/b.test.sh', 'exit 1\n')
    world.repository.run('add', 'tests')
    world.repository.run('commit', '-qm', 'Tests')
    const { code, stdout } = await world.run(['loop', 'run', 'TASKS.md', '--json'])
    expect(code).toBe(1)
    const entries = jsonLines(stdout)
    const ends = Object.fromEntries(
      entries.flatMap(entry =>
        /^task:(merged|parked|failed)$/.test(entry.type ?? '')
          ? [[entry.task, entry.kind ?? entry.type]]
          : [],
      ),
    )
    const { 'say-left': left, 'say-right': right, ...others } = ends
    expect([left, right].sort()).toEqual(['conflict', 'task:merged'])
    expect(others).toEqual({
      'two-tries': 'task:merged',
      'only-words': 'task:failed',
      'mend-the-tests': 'task:merged',
      'ask-first': 'question',
      'too-dear': 'budget',
      'no-agent': expect.stringMatching(/harness|error/),
    })
    expect(world.list().match(/\[x\] .*/g)).toHaveLength(3)
    expect(
      entries.filter(({ type, task }) => type === 'iteration:start' && task === 'two-tries'),
    ).toHaveLength(2)
    const { loopId } = jsonLines((await world.run(['loop', 'status', '--json'])).stdout)[0] ?? {}
    const second = readFileSync(world.loopFile(loopId ?? '', 'prompts', 'two-tries-2.md'), 'utf8')
    expect(second).toContain('`grep two try.txt` exits with 1')
    const report = (await world.run(['loop', 'report'])).stdout
    expect(report).toContain('2 proved · 1 proved, look at this · 4 need you · 1 not proved · 1 to go')
    expect(report).toContain('Deleted tests (1 line that can be found nowhere else). tests/b.test.sh')
    expect(report).toContain('Which one?')
    // The checks say how a session of a task stands, not the last turn of its agent.
    const sessions = (await world.run(['sessions', 'list'])).stdout.trim().split('\n')
    expect(sessions.filter(line => / {2}failed /.test(line))).toHaveLength(1)
    const asked = sessions.find(line => line.includes('parked') && line.includes('Ask first'))
    const shown = (await world.run(['sessions', 'show', asked?.split(' ')[0] ?? ''])).stdout
    expect(shown).toMatch(/^now +parked: .*Which one\?/m)
    expect(shown).toMatch(new RegExp(`^loop +${loopId}, task ask-first$`, 'm'))
    // The project itself is as it was, but for the ticks.
    expect(world.repository.run('status', '--porcelain')).toBe('?? TASKS.md\n')
    const merged = world.repository.run('ls-tree', '--name-only', 'chirality/loop-tasks')
    expect(merged).not.toContain('dear.txt')
    expect(world.repository.run('show', 'chirality/loop-tasks:try.txt')).toBe('two\n')
    // Worktrees of what is proved are gone; the others are named.
    expect(world.repository.run('worktree', 'list').trim().split('\n')).toHaveLength(1 + 1 + 5)
    // Seven agents, one after the other on a busy machine.
  }, 600_000)

  test('a loop that is killed goes on where it was: the task that was proved is not repeated, the other is finished', async () => {
    const world = await loopWorld(
      {
        routes: [
          {
            when: { conversationContains: '## Task\n\nSay one' },
            answers: [bash('echo one > one.txt'), 'Done.'],
            otherwise: 'I am done.',
          },
          {
            when: { conversationContains: '## Task\n\nSay two' },
            answers: [
              { text: 'I am about to do it, and take my time.', stallAfter: 1 },
              bash('echo two > two.txt'),
            ],
            otherwise: 'I am done.',
          },
        ],
      },
      '- [ ] Say one\n  checks: grep -q one one.txt\n- [ ] Say two\n  checks: grep -q two two.txt\n',
    )
    const killed = world.start(['loop', 'run', 'TASKS.md', '--json'])
    await world.model.waitForRequest(({ state }) => state === 'stalled')
    killed.signal('SIGKILL')
    await killed.result()
    world.model.release()
    const { loopId = '' } =
      jsonLines((await world.start(['loop', 'status', '--json']).result()).stdout)[0] ?? {}
    const journal = () =>
      jsonLines(readFileSync(world.loopFile(loopId, 'journal.ndjson'), 'utf8')).map(
        ({ type, task }) => `${type} ${task ?? ''}`,
      )
    expect(journal()).toContain('task:merged say-one')
    const { code, stderr } = await world.run(['loop', 'resume'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(journal().filter(entry => entry === 'task:merged say-one')).toHaveLength(1)
    expect(journal().filter(entry => entry === 'task:merged say-two')).toHaveLength(1)
    expect(world.list().match(/\[x\] .*/g)).toEqual(['[x] Say one', '[x] Say two'])
    expect(world.repository.run('show', 'chirality/loop-tasks:two.txt')).toBe('two\n')
    expect(world.repository.run('status', '--porcelain')).toBe('?? TASKS.md\n')
  })

  test('a server that has the project runs the loop; killed, it goes on with it when it is started again', async () => {
    const tasks =
      '- [ ] Say one\n  checks: grep -q one one.txt\n- [ ] Say two\n  checks: grep -q two two.txt\n'
    const world = await loopWorld(
      {
        routes: [
          {
            when: { conversationContains: '## Task\n\nSay one' },
            answers: [bash('echo one > one.txt')],
            otherwise: 'I am done.',
          },
          {
            when: { conversationContains: '## Task\n\nSay two' },
            answers: [{ text: 'I take my time.', stallAfter: 1 }, bash('echo two > two.txt')],
            otherwise: 'I am done.',
          },
        ],
      },
      tasks,
    )
    const serve = ['serve', '--json', '--port', '0', '--project', world.project]
    const first = world.start(serve)
    await first.shows('\n')
    const run = world.start(['loop', 'run', 'TASKS.md', '--json', '--max-iterations', '9'])
    await world.model.waitForRequest(({ state }) => state === 'stalled')
    first.signal('SIGKILL')
    await first.result()
    const { code, stdout, stderr } = await run.result()
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('It goes on with the loop') })
    expect(jsonLines(stdout).filter(({ type }) => type === 'task:merged')).toMatchObject([
      { task: 'say-one' },
    ])
    world.model.release()
    const second = world.start(serve)
    await second.shows('\n')
    const status = async () =>
      jsonLines((await world.start(['loop', 'status', '--json']).result()).stdout)[0] as unknown as {
        loopId: string
        end: { reason: string } | null
        tasks: { status: string }[]
      }
    await expect
      .poll(async () => (await status()).end?.reason, { timeout: 240_000, interval: 500 })
      .toBe('done')
    const { loopId, tasks: done } = await status()
    expect(done).toMatchObject([{ status: 'merged' }, { status: 'merged' }])
    const journal = jsonLines(readFileSync(world.loopFile(loopId, 'journal.ndjson'), 'utf8'))
    const merged = journal.filter(({ type }) => type === 'task:merged').map(({ task }) => task)
    expect(merged).toEqual(['say-one', 'say-two'])
    expect(world.list().match(/\[x\] .*/g)).toHaveLength(2)
    second.signal('SIGTERM')
    expect((await second.result()).code).toBe(0)
  })

  test.each([
    ['no list', ['loop', 'run', 'NONE.md'], 'There is no task list'],
    ['a dirty project', ['loop', 'run', 'TASKS.md'], 'not committed (README.md)'],
    ['no action', ['loop'], 'Say what to do: loop knows run, status'],
    [
      'a time that is over',
      ['loop', 'run', 'TASKS.md', '--until', '2001-01-01'],
      '--until must be a time to come',
    ],
    ['no loop to resume', ['loop', 'resume', 'x'], 'There is no loop x'],
  ])('refuses %s and changes nothing', async (_name, args, message) => {
    const world = await loopWorld({ otherwise: 'ok' }, '- [ ] One\n')
    world.repository.write('README.md', 'Changed.\n')
    const { code, stderr } = await world.run(args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
    expect(world.repository.run('branch', '--list', 'chirality/*')).toBe('')
  })
})
