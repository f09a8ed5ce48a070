import { expect, test } from 'vitest'
import { parseTaskList, tickTasks } from '../src/task-list.ts'

const parse = (text: string) => parseTaskList(text, 'TASKS.md')

test('nested tasks take the keys of their group, notes are kept, and fences hold no task', () => {
  const { tasks } = parse(
    [
      '# Backlog',
      '- [ ] Importer',
      '  checks:',
      '    - npm test',
      '  harness: one',
      '  - [ ] Read CSV',
      '    checks: npm run lint',
      '    Commas and semicolons.',
      '    ```',
      '    - [ ] no task',
      '    ```',
      '  - [x] Read XML',
      '- [ ] Write docs',
      '  expect: none',
      '  depends_on: Read CSV, 2',
      '  budget_usd: 1.5',
    ].join('\r\n'),
  )
  expect(tasks.map(({ id, ticked, line }) => [id, ticked, line])).toEqual([
    ['read-csv', false, 6],
    ['read-xml', true, 12],
    ['write-docs', false, 13],
  ])
  expect(tasks[0]).toMatchObject({
    groups: ['Importer'],
    checks: ['npm test', 'npm run lint'],
    harness: 'one',
    notes: 'Commas and semicolons.\n```\n- [ ] no task\n```',
  })
  expect(tasks[2]).toMatchObject({ expect: 'none', dependsOn: ['read-csv', 'read-xml'], budgetUsd: 1.5 })
})

test('ticking changes one character, and the group with its last task', () => {
  const text = '---\nparallel: 2\n---\r\n* [ ] Group \t\n\t* [x] One\n\t* [ ] Two  \n\n- [ ] Two'
  expect(tickTasks(text, new Set(['two']), 'T')).toBe(
    text.replace('[ ] Two  ', '[x] Two  ').replace('[ ] Group', '[x] Group'),
  )
  expect(tickTasks(text, new Set(['two-2']), 'T')).toBe(text.replace('- [ ] Two', '- [x] Two'))
  expect(tickTasks(text, new Set(['other']), 'T')).toBe(text)
})

test.each([
  ['', /TASKS\.md:1: The list has no task/],
  ['# Only words\n\n- one\n', /no task/],
  ['- [ ] A\n  chekcs: x\n', /TASKS\.md:2: Unknown key "chekcs"\. Did you mean "checks"\?/],
  ['- [ ] A\n  depends_on: B\n- [ ] B\n  depends_on: A\n', /goes in a circle: a → b → a/],
  ['- [ ] A\n  depends_on: C\n', /TASKS\.md:2: "depends_on" names "C"/],
  ['- [ ] A\n  expect: magic\n', /TASKS\.md:2: "expect" is diff or none/],
  ['- [ ] A\n  budget_usd: much\n', /TASKS\.md:2: "budget_usd" is a number above 0/],
  ['- [ ] A\n  next_harnesses: Some One\n', /TASKS\.md:2: "next_harnesses" is names of agents/],
  ['---\nnext_harnesses: []\n---\n- [ ] A\n', /TASKS\.md:2: "next_harnesses"/],
  ['- [ ] \n', /TASKS\.md:1: The task has no words/],
  ['---\nparalel: 2\n---\n- [ ] A\n', /TASKS\.md:2: Unknown key "paralel"\. Did you mean "parallel"\?/],
  ['---\nparallel: 99\n---\n- [ ] A\n', /TASKS\.md:2: "parallel"/],
  ['---\nparallel: 2\n- [ ] A\n', /front matter has no end/],
  ['- [ ] A\n  id: x\n- [ ] B\n  id: x\n', /TASKS\.md:4: The id "x" is given twice/],
])('a bad list is refused with the line: %j', (text, message) => {
  expect(() => parse(text)).toThrow(message)
})

test('the front matter of a Symphony workflow is read as far as it means the same here', () => {
  const { settings, notices } = parse(
    '---\ntracker: { kind: linear }\nhooks:\n  after_create: npm ci\nagent:\n  max_concurrent_agents: 3\n  max_turns: 7\nrobot:\n  command: x\n---\n- [ ] A\n',
  )
  expect(settings).toMatchObject({ setup: ['npm ci'], parallel: 3, max_attempts: 7 })
  expect(notices[0]).toContain('tracker')
})

test('a chain of 5,000 dependencies and as many tasks of one name are read', () => {
  const chain = Array.from(
    { length: 5000 },
    (_, n) => `- [ ] T${n}\n${n === 0 ? '' : `  depends_on: t${n - 1}\n`}`,
  )
  expect(parse(chain.reverse().join('')).tasks).toHaveLength(5000)
  expect(parse('- [ ] Same words\n'.repeat(5000)).tasks.at(-1)?.id).toBe('same-words-5000')
  expect(() => parse('- [ ] Same words\n'.repeat(5001))).toThrow('The list has 5001 tasks')
})

test('agents that go on at a limit are named for a task, a group and the list', () => {
  const front = '---\nhand_over: true\nnext_harnesses: one, two\n---\n'
  const { tasks, settings } = parse(
    `${front}- [ ] G\n  next_harnesses:\n    - three\n    - four\n  - [ ] A\n- [ ] B\n`,
  )
  expect(settings).toMatchObject({ hand_over: true, next_harnesses: ['one', 'two'] })
  expect(tasks.map(({ nextHarnesses }) => nextHarnesses)).toEqual([['three', 'four'], undefined])
  expect(parse('- [ ] A\n').settings).toMatchObject({ wait_for_limits: 0 })
  expect(parse('- [ ] A\n').settings.hand_over).toBeUndefined()
})

test('a task runs here without a word, on any machine of the fleet, or on one with labels', () => {
  const where = (text: string) => parse(text).tasks.map(task => task.where)
  const list = '- [ ] A\n- [ ] B\n  where: fleet\n- [ ] C\n  where: gpu, arm64\n- [ ] D\n  where: here\n'
  expect(where(list)).toEqual([undefined, [], ['gpu', 'arm64'], undefined])
  expect(where(`---\nwhere: build\n---\n${list}`)).toEqual([['build'], [], ['gpu', 'arm64'], undefined])
  for (const odd of ['*', 'a,,b', '../x', 'a b'])
    expect(() => where(`- [ ] A\n  where: ${odd}\n`)).toThrow(/:2: "where" is here, fleet, or labels/)
})
