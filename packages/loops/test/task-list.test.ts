import { describe, expect, test } from 'vitest'
import { parseTaskList, tickTasks, untickTask } from '../src/task-list.ts'

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

describe('lists as people have them', () => {
  test('other keys of a front matter are named and left; a misspelled one is refused', () => {
    const text = '---\ntitle: Plan\nstatus: draft\ntags: [a, b]\nbudget_usd: 3\n---\n- [ ] A\n'
    const { settings, notices, tasks } = parse(text)
    expect(settings.budget_usd).toBe(3)
    expect(settings).not.toHaveProperty('title')
    expect(notices).toEqual(['TASKS.md:2: title, status, tags: not used by a loop, and left as it is.'])
    expect(tickTasks(text, new Set([tasks[0]?.id ?? '']), 'T')).toBe(text.replace('[ ]', '[x]'))
    expect(() => parse('---\nbudget_uds: 3\n---\n- [ ] A\n')).toThrow('Did you mean "budget_usd"?')
  })

  test('numbered and starred boxes are tasks, and are ticked', () => {
    const text = '1. [ ] One\n2) [x] Two\n* [ ] Three\n10. [ ] Four\n    1. [ ] Inner\n+   [ ] Five\n'
    const { tasks, notices } = parse(text)
    expect(tasks.map(({ title, ticked }) => [title, ticked])).toEqual([
      ...[
        ['One', false],
        ['Two', true],
        ['Three', false],
      ],
      ...[
        ['Inner', false],
        ['Five', false],
      ],
    ])
    expect(tasks[3]?.groups).toEqual(['Four'])
    expect(notices).toEqual([])
    expect(tickTasks(text, new Set(['one', 'inner']), 'T')).toBe(
      text
        .replace('1. [ ] One', '1. [x] One')
        .replace('[ ] Inner', '[x] Inner')
        .replace('[ ] Four', '[x] Four'),
    )
  })

  test('a note with a colon is a note, and a check below it is a check', () => {
    const { tasks, notices } = parse(
      '- [ ] A\n  priority: high\n  file: src/a.ts\n  expected: 200\n  checks: npm test\n  Words.\n- [ ] B\n  priority: low\n',
    )
    expect(tasks[0]).toMatchObject({
      checks: ['npm test'],
      notes: 'priority: high\nfile: src/a.ts\nexpected: 200\nWords.',
    })
    expect(notices).toEqual([
      'TASKS.md:2,8: "priority:" is no key of a task, and is read as a note.',
      'TASKS.md:3: "file:" is no key of a task, and is read as a note.',
      'TASKS.md:4: "expected:" is no key of a task, and is read as a note.',
    ])
  })

  test.each([
    ['- [ ] A\n  Words first.\n  checks: npm test\n', 3],
    ['- [ ] A\n  - checks: npm test\n', 2],
  ])('a key that is no key where it stands is told: %j', (text, line) => {
    const { tasks, notices } = parse(text)
    expect(tasks[0]?.checks).toEqual([])
    expect(notices).toEqual([expect.stringContaining(`TASKS.md:${line}: "checks:" is read as a note.`)])
  })

  const PRD = [
    ...['# PRD: Login', '', '## User Stories', '', '### US-001: Sign in', 'checks: npm test', ''],
    ...['As a user I sign in.', '', '**Acceptance Criteria:**', '- [ ] A form', '- [ ] Typecheck passes', ''],
    ...[
      '### US-002: Sign out',
      '#### Description',
      'As a user.',
      '#### Steps',
      '- [x] A button',
      '- [ ] Typecheck passes',
      '',
    ],
    ...['### US-003: Later', 'No box here.', '', '## Definition of Done', '- [ ] Reviewed', ''],
  ].join('\n')

  test('boxes under the heading of a story are its acceptance criteria', () => {
    const { tasks, notices } = parse(PRD)
    expect(tasks.map(({ title, ticked, line }) => [title, ticked, line])).toEqual([
      ['US-001: Sign in', false, 5],
      ['US-002: Sign out', false, 14],
    ])
    expect(tasks[0]).toMatchObject({ id: 'us-001-sign-in', checks: ['npm test'] })
    expect(tasks[0]?.notes).toContain('- [ ] Typecheck passes')
    expect(tasks[1]?.notes).toContain('#### Steps')
    expect(notices.join('\n')).toContain('2 headings are read as one task each')
    expect(notices.join('\n')).toMatch(/TASKS\.md:21: This heading has no box to tick/)
    expect(notices.join('\n')).toMatch(/TASKS\.md:25: 1 box belongs to no task/)
    const ticked = tickTasks(PRD, new Set(['us-001-sign-in']), 'T')
    expect(ticked).toBe(PRD.replace('- [ ] A form\n- [ ] Typecheck', '- [x] A form\n- [x] Typecheck'))
    expect(parse(ticked).tasks.map(task => task.ticked)).toEqual([true, false])
    expect(untickTask(ticked, 'us-001-sign-in', 'T')).toBe(PRD)
  })

  test.each([
    [
      'a heading without a number, with acceptance criteria',
      '## Sign in\n### Acceptance criteria\n- [ ] A\n- [ ] B\n',
      ['Sign in'],
    ],
    [
      'criteria below a task',
      '- [ ] Sign in\n  Acceptance criteria:\n  - [ ] A\n  - [ ] B\n- [ ] Out\n',
      ['Sign in', 'Out'],
    ],
    [
      'boxes with numbers of their own',
      '## User Story 1\n- [ ] T012 [P] Model\n- [ ] T013 View\n',
      ['T012 [P] Model', 'T013 View'],
    ],
    ['boxes with keys of their own', '## Task 1: Do\n- [ ] A\n  checks: make\n- [ ] B\n', ['A', 'B']],
    ['plain sections', '# Plan\n## Phase 1: Start\n- [ ] A\n## UTF-8 support\n- [ ] B\n', ['A', 'B']],
    [
      'a story of a tracker',
      '## ABC-12: Do it\n- [ ] A\n- [ ] B\n## Other\n- [ ] C\n',
      ['ABC-12: Do it', 'C'],
    ],
    ['a fence', '### US-1: Do\n```\n# no heading\n- [ ] no box\n```\n- [ ] A\n', ['US-1: Do']],
  ])('%s', (_, text, titles) => {
    expect(parse(text).tasks.map(({ title }) => title)).toEqual(titles)
  })

  test('thousands of odd lines make a few notices', () => {
    const { notices } = parse(`${'- [ ] A\n  priority: high\n'.repeat(4000)}`)
    expect(notices).toEqual([expect.stringContaining('TASKS.md:2,4,6 and 3997 more: "priority:"')])
  })
})
