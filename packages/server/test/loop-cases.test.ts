import { readFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import type { Script, ScriptAnswer } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'

interface Agent {
  run(command: string): ScriptAnswer
  /** `before`: what the file has, if there is one. */
  write(file: string, text: string, before?: string): ScriptAnswer
  remove(file: string): ScriptAnswer
}

const bash = (command: string) => ({ tool: 'Bash', input: { command } })
const patch = (words: string) => ({
  ...{ tool: 'apply_patch', input: `*** Begin Patch\n${words}\n*** End Patch\n` },
})
const AGENTS: Record<string, Agent> = {
  codex: {
    run: cmd => ({ tool: 'exec_command', input: { cmd } }),
    write: (file, text, before) =>
      patch(
        before === undefined
          ? `*** Add File: ${file}\n+${text}`
          : `*** Update File: ${file}\n@@\n-${before}\n+${text}`,
      ),
    remove: file => patch(`*** Delete File: ${file}`),
  },
  'claude-code': {
    run: bash,
    write: (file, text) => bash(`echo ${text} > ${file}`),
    remove: file => bash(`rm ${file}`),
  },
}

interface Case {
  title: string
  keys?: string[]
  /** What the model says to each of its requests for the task. */
  answers: (agent: Agent) => ScriptAnswer[]
  end: { status: string; parked?: string; iterations?: number; why?: unknown }
}

const CASES: Case[] = [
  {
    title: 'Say one',
    keys: ['checks: grep -q one one.txt'],
    answers: ({ write }) => [write('one.txt', 'one')],
    end: { status: 'merged', iterations: 1 },
  },
  {
    title: 'Two tries',
    keys: ['checks: grep two try.txt'],
    answers: ({ write }) => [write('try.txt', 'one'), 'Done.', write('try.txt', 'two', 'one')],
    end: { status: 'merged', iterations: 2 },
  },
  {
    title: 'Only words',
    answers: () => [],
    end: { status: 'failed', why: expect.stringContaining('No file was changed') },
  },
  {
    title: 'No agent',
    keys: ['harness: nobody'],
    answers: () => [],
    end: { status: 'parked', parked: 'harness', why: expect.stringContaining('nobody') },
  },
]

/** Each costs a start of the agent. */
const MORE: Case[] = [
  {
    title: 'Break it',
    keys: ['checks: test -f README.md'],
    answers: ({ remove }) => [remove('README.md')],
    end: { status: 'failed', why: expect.stringContaining('`test -f README.md` exits with 1') },
  },
  {
    title: 'Mend the tests',
    keys: ['checks: for t in tests/*.sh; do sh $t || exit 1; done'],
    answers: ({ remove }) => [remove('tests/b.sh')],
    end: { status: 'merged' },
  },
  {
    title: 'Ask first',
    answers: () => ['Which one should it be?'],
    end: { status: 'parked', parked: 'question', why: 'Which one should it be?' },
  },
  {
    title: 'Too dear',
    keys: ['budget_tokens: 1'],
    answers: ({ write }) => [write('dear.txt', 'dear'), write('dearer.txt', 'dearer')],
    end: { status: 'parked', parked: 'budget' },
  },
]

/** Codex asks before each command: the tools of a coder have the shell, but nothing that leads out of the folder. */
const COMMANDS: Case[] = [
  {
    title: 'Use a command',
    keys: ['checks: grep -q used used.txt'],
    answers: ({ run }) => [run('echo used > used.txt')],
    end: { status: 'merged', iterations: 1 },
  },
  {
    title: 'Leave the folder',
    answers: ({ write }) => [write('../outside.txt', 'outside')],
    end: { status: 'parked', parked: 'permission' },
  },
]

/** Both begin at the same commit, and only one of them can be merged. */
const CONFLICTING: Case[] = ['left', 'right'].map(word => ({
  title: `Say ${word}`,
  answers: ({ write }) => [write('side.txt', word)],
  end: { status: expect.stringMatching(/^(merged|parked)$/) as unknown as string },
}))

const isLong = process.env.CHIRALITY_TEST_ALL !== undefined
const RUNS: [string, Case[]][] = isLong
  ? [
      ['codex', [...CONFLICTING, ...CASES, ...COMMANDS, ...MORE]],
      ['claude-code', [...CONFLICTING, ...CASES, ...MORE]],
    ]
  : [['codex', [...CASES, ...COMMANDS]]]

test.each(RUNS)(
  'tasks of a loop with %s end as they are proved',
  { timeout: 900_000 },
  async (harness, cases) => {
    const agent = AGENTS[harness] as Agent
    const script: Script = {
      routes: cases.map(({ title, answers }) => ({
        // Each prompt of a loop begins with the task.
        when: { lastUserContains: `## Task\n\n${title}` },
        ...{ answers: answers(agent), otherwise: 'I am done.' },
      })),
      otherwise: 'A title.',
    }
    const world = await createWorld(script)
    const repository = initRepository(world.project)
    repository.write('README.md', 'A project.\n')
    repository.write('tests/a.sh', 'exit 0\n')
    repository.write('tests/b.sh', 'exit 1\n')
    const items = cases.map(({ title, keys = [] }) =>
      [`- [ ] ${title}`, ...keys.map(key => `  ${key}`)].join('\n'),
    )
    repository.write(
      'TASKS.md',
      `---\nharness: ${harness}\nmax_failures: 9\nparallel: 2\n---\n${items.join('\n')}\n`,
    )
    repository.run('add', '.')
    repository.run('commit', '-qm', 'First')
    const server = await serveWorld(world)
    const { client } = connect(server)
    const { loopId } = await client.loops.start.mutate({ project: world.project, list: 'TASKS.md' })
    const shown = () => client.loops.get.query({ loopId })
    await expect
      .poll(async () => (await shown()).end?.reason, { timeout: 800_000, interval: 200 })
      .toBe('blocked')
    const { tasks } = await shown()
    const ends = Object.fromEntries(tasks.map(({ title, ...task }) => [title, task]))
    for (const { title, end } of cases) expect({ title, ...ends[title] }).toMatchObject({ title, ...end })
    if (cases.includes(CONFLICTING[0] as Case))
      expect(tasks.filter(({ parked }) => parked === 'conflict')).toHaveLength(1)
    // What the project has spent, and the conversation that was used last, are where spec 001 wants them.
    const state = (name: string) =>
      JSON.parse(readFileSync(path.join(world.project, '.chirality', 'state', name), 'utf8'))
    const begun = tasks.filter(({ title }) => title !== 'No agent')
    const iterations = begun.reduce((sum, task) => sum + task.iterations, 0)
    expect(state('budget.json')).toMatchObject({
      ...{ iterations, max_iterations: null, max_cost_usd: null, total_cost_usd: expect.any(Number) },
    })
    expect(state('claude-session.json')).toMatchObject({
      ...{ coder_session_id: expect.any(String), updated_at: expect.any(String) },
    })
  },
)
