import { didYouMean } from '@chirality/core'
import { slugOf } from '@chirality/workspaces'
import { badList as bad } from './loop-error.ts'
import { isHarnessName, type LoopSettings, namesIn, readListSettings, TESTS } from './loop-settings.ts'
import { type Item, type Key, readItems } from './task-items.ts'

/** A leaf of the list, which one agent works on. A task with subtasks is a group, whose keys apply to all of them. */
export interface Task {
  /** Derived from the title, or given by the key `id`. */
  id: string
  title: string
  /** Text below the task that is no key. */
  notes: string
  /** Titles of its groups, outermost first. */
  groups: string[]
  checks: string[]
  expect: 'diff' | 'none'
  persona?: string
  harness?: string
  /** Agents that may continue the task when its agent reaches a limit of its plan. */
  nextHarnesses?: string[]
  model?: string
  budgetUsd?: number
  budgetTokens?: number
  /** Labels that a machine of the fleet must have. Undefined: this machine. */
  where?: string[]
  /** True if the task is expected to change existing tests. Such changes are shown either way. */
  mayChangeTests?: true
  /** Ids of tasks. */
  dependsOn: string[]
  /** True if the box is ticked in the file. */
  ticked: boolean
  /** Counted from 1. */
  line: number
}

export interface TaskList {
  settings: LoopSettings
  tasks: Task[]
  /** Notices for the user about text that is not used. */
  notices: string[]
}

/** Parses a Markdown task list. Throws `bad-list` with the file name and the line. */
export function parseTaskList(text: string, name: string): TaskList {
  if (text.length > MAX_LIST_CHARS)
    throw bad(name, 1, `The list is larger than ${MAX_LIST_CHARS} characters.`)
  const { settings, notices, firstLine } = readListSettings(text, name)
  const { items, notices: told } = readItems(text.split('\n'), firstLine, name)
  const leaves = items.filter(({ isGroup }) => !isGroup)
  if (leaves.length === 0)
    throw bad(name, 1, 'The list has no task. Write each as a line that begins with "- [ ] ".')
  const first = leaves[MAX_TASKS]
  if (first !== undefined)
    throw bad(
      name,
      first.at + 1,
      `The list has ${leaves.length} tasks, and at most ${MAX_TASKS} are read. Divide it.`,
    )
  const ids = giveIds(leaves, name)
  const tasks = leaves.map((item, at): Task => taskOf(item, { id: ids[at] ?? '', settings, name }))
  resolveDependencies(tasks, leaves, items, name)
  requireNoCycle(tasks, name)
  return { settings, tasks, notices: [...notices, ...told] }
}

/** Ticks these tasks, and groups whose tasks are all ticked. Every other byte stays unchanged. */
export function tickTasks(text: string, ids: ReadonlySet<string>, name: string): string {
  const { lines, items, idOf } = readLeaves(text, name)
  // From the end, so that a group comes after its contents.
  for (const item of [...items].reverse()) {
    const isDone = item.isGroup
      ? items.every(other => !other.parents.includes(item) || other.isGroup || other.ticked)
      : ids.has(idOf.get(item) ?? '')
    if (!isDone || item.ticked) continue
    item.ticked = true
    for (const at of boxesOf(item)) lines[at] = (lines[at] ?? '').replace(/\[ \]/, '[x]')
  }
  return lines.join('\n')
}

/** Unticks a task whose change was reverted, and its groups. */
export function untickTask(text: string, id: string, name: string): string {
  const { lines, items, idOf } = readLeaves(text, name)
  const task = items.find(item => idOf.get(item) === id)
  for (const at of task === undefined ? [] : [task, ...task.parents].flatMap(boxesOf))
    lines[at] = (lines[at] ?? '').replace(/\[[xX]\]/, '[ ]')
  return lines.join('\n')
}

/** Lines that are ticked with the item. A heading has no box of its own. */
function boxesOf({ at, criteria, heading }: Item): number[] {
  return heading === undefined ? [at, ...criteria] : criteria
}

function readLeaves(text: string, name: string) {
  const { firstLine } = readListSettings(text, name)
  const lines = text.split('\n')
  const { items } = readItems(lines, firstLine, name)
  const leaves = items.filter(({ isGroup }) => !isGroup)
  const idOf = new Map(giveIds(leaves, name).map((id, at) => [leaves[at] as Item, id]))
  return { lines, items, idOf }
}

const MAX_LIST_CHARS = 4 * 1024 * 1024
const MAX_TASKS = 5_000

function giveIds(leaves: readonly Item[], name: string): string[] {
  const given = new Map<string, Item>()
  for (const item of leaves) {
    const key = item.keys.get('id')
    const id = key?.values[0]
    if (key === undefined) continue
    if (id === undefined || !ID.test(id))
      throw bad(name, key.at + 1, 'An id is 1 to 60 lower-case letters, digits and dashes.')
    if (given.has(id)) throw bad(name, key.at + 1, `The id "${id}" is given twice.`)
    given.set(id, item)
  }
  const taken = new Set(given.keys())
  const counts = new Map<string, number>()
  return leaves.map(item => {
    const own = item.keys.get('id')?.values[0]
    if (own !== undefined) return own
    const slug = slugOf(item.title, 'task')
    let id = slug
    let n = counts.get(slug) ?? 1
    for (; taken.has(id); id = `${slug}-${n}`) n += 1
    counts.set(slug, n)
    taken.add(id)
    return id
  })
}

const ID = /^[a-z0-9][a-z0-9-]{0,59}$/

function taskOf(
  item: Item,
  { id, settings, name }: { id: string; settings: LoopSettings; name: string },
): Task {
  const one = (key: Key) =>
    [item, ...[...item.parents].reverse()].map(from => from.keys.get(key)).find(Boolean)
  const text = (key: Key) => one(key)?.values[0]
  const checks = [...item.parents, item].flatMap(from => from.keys.get('checks')?.values ?? [])
  const persona = text('persona') ?? settings.persona
  const harness = text('harness') ?? settings.harness
  const nextHarnesses = harnessNames(one('next_harnesses'), name)
  const model = text('model') ?? settings.model
  const where = placeOf(one('where'), settings.where, name)
  const budgetUsd = amount(one('budget_usd'), 'budget_usd', name)
  const budgetTokens = amount(one('budget_tokens'), 'budget_tokens', name)
  return {
    id,
    title: item.title,
    notes: dedent(item.notes),
    groups: item.parents.map(({ title }) => title),
    checks: [...settings.checks, ...checks],
    expect: expectation(one('expect'), name),
    persona,
    harness,
    nextHarnesses,
    model,
    budgetUsd,
    budgetTokens,
    where,
    mayChangeTests: mayChangeTests(one('tests'), settings, name),
    dependsOn: [],
    ticked: item.ticked,
    line: item.at + 1,
  }
}

type KeyValue = { values: string[]; at: number } | undefined

function expectation(key: KeyValue, name: string): Task['expect'] {
  const [word = 'diff'] = key?.values ?? []
  if (word === 'diff' || word === 'none') return word
  throw bad(name, (key?.at ?? 0) + 1, `"expect" is diff or none, not "${word}".`)
}

function mayChangeTests(key: KeyValue, settings: LoopSettings, name: string): true | undefined {
  const [word = settings.tests ?? 'must stay'] = key?.values ?? []
  if (TESTS.some(known => known === word)) return word === 'may change' || undefined
  throw bad(name, (key?.at ?? 0) + 1, `"tests" is ${TESTS.join(' or ')}, not "${word}".`)
}

function harnessNames(key: KeyValue, name: string): string[] | undefined {
  if (key === undefined) return undefined
  const names = namesIn(key.values)
  if (names.length > 0 && names.every(isHarnessName)) return names
  throw bad(name, key.at + 1, '"next_harnesses" is names of agents, with commas between.')
}

/** Parses `here`, `fleet`, or comma-separated labels of a machine. */
function placeOf(key: KeyValue, inSettings: string | undefined, name: string): string[] | undefined {
  const text = key === undefined ? inSettings : key.values.join(',')
  if (text === undefined || text === 'here') return undefined
  if (text === 'fleet') return []
  const labels = text.split(',').map(label => label.trim())
  if (labels.every(label => /^[A-Za-z0-9][\w.:-]{0,99}$/.test(label))) return labels
  const at = key === undefined ? 1 : key.at + 1
  throw bad(name, at, `"where" is here, fleet, or labels of a machine with commas between, not "${text}".`)
}

function amount(key: KeyValue, word: string, name: string): number | undefined {
  if (key === undefined) return undefined
  const value = Number(key.values[0])
  if (value > 0 && Number.isFinite(value)) return value
  throw bad(name, key.at + 1, `"${word}" is a number above 0, not "${key.values[0] ?? ''}".`)
}

function resolveDependencies(tasks: Task[], leaves: Item[], items: Item[], name: string): void {
  const leavesOf = (group: Item) => tasks.filter((_, at) => leaves[at]?.parents.includes(group))
  // The first task with a title; ids take precedence over titles.
  const byName = new Map([
    ...[...tasks].reverse().map(task => [task.title, task] as const),
    ...tasks.map(task => [task.id, task] as const),
  ])
  const find = (word: string): Task[] => {
    const number = /^#?(\d+)$/.exec(word)?.[1]
    if (number !== undefined) return tasks.slice(Number(number) - 1, Number(number))
    const named = byName.get(word)
    if (named !== undefined) return [named]
    const group = items.find(
      ({ isGroup, title }) => isGroup && (title === word || slugOf(title, 'task') === word),
    )
    return group === undefined ? [] : leavesOf(group)
  }
  tasks.forEach((task, at) => {
    const item = leaves[at]
    if (item === undefined) return
    for (const from of [...item.parents, item]) {
      const key = from.keys.get('depends_on')
      for (const word of (key?.values ?? []).flatMap(value => value.split(','))) {
        const found = find(word.trim())
        if (found.length === 0) {
          const near = didYouMean(
            word.trim(),
            tasks.map(({ id }) => id),
          )
          const hint = near ? ` Did you mean "${near}"?` : ' Name it by its words, its id or its number.'
          throw bad(
            name,
            (key?.at ?? 0) + 1,
            `"depends_on" names "${word.trim()}", and there is no such task.${hint}`,
          )
        }
        task.dependsOn.push(...found.map(({ id }) => id))
      }
    }
    task.dependsOn = [...new Set(task.dependsOn)]
  })
}

function requireNoCycle(tasks: Task[], name: string): void {
  const byId = new Map(tasks.map(task => [task.id, task]))
  const done = new Set<string>()
  for (const task of tasks) {
    // Iterative, because a chain of thousands of tasks would overflow the stack.
    const trail: { task: Task; next: number }[] = [{ task, next: 0 }]
    const inTrail = new Set([task.id])
    while (trail.length > 0) {
      const top = trail.at(-1)
      if (top === undefined) break
      const id = done.has(top.task.id) ? undefined : top.task.dependsOn[top.next]
      top.next += 1
      if (id === undefined) {
        done.add(top.task.id)
        inTrail.delete(top.task.id)
        trail.pop()
        continue
      }
      if (inTrail.has(id)) {
        const from = trail.findIndex(({ task: { id: other } }) => other === id)
        const round = [...trail.slice(from).map(({ task: { id: other } }) => other), id].join(' → ')
        throw bad(name, top.task.line, `"depends_on" goes in a circle: ${round}. Remove one of them.`)
      }
      const next = byId.get(id)
      if (next === undefined) continue
      trail.push({ task: next, next: 0 })
      inTrail.add(id)
    }
  }
}

function dedent(lines: readonly string[]): string {
  const widths = lines.filter(line => line.trim() !== '').map(line => /^[ \t]*/.exec(line)?.[0].length ?? 0)
  const least = Math.min(...widths, Number.MAX_SAFE_INTEGER)
  return lines
    .map(line => line.slice(least))
    .join('\n')
    .trim()
}
