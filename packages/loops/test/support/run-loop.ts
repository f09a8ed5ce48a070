import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type LoopState, verdictOf } from '../../src/index.ts'
import { LoopBook } from '../../src/loop-book.ts'
import { commitAll, hostWith, projectWith } from './loop-project.ts'
import { type Work, WorkingAgent } from './working-agent.ts'

export interface LoopCase {
  /** Before each of the tasks. */
  front: string
  files: Record<string, string>
  works: Record<string, Work>
  /** Lines below the task of that title. */
  keys?: Record<string, string[]>
}

/** A real repository, and a real loop whose tasks are the works of its agent. */
export async function runLoop({ front, files, works, keys = {} }: LoopCase) {
  const tasks = Object.keys(works).map(title =>
    [`- [ ] ${title}`, ...(keys[title] ?? []).map(line => `  ${line}`)].join('\n'),
  )
  const world = projectWith(`---\n${front}\n---\n\n${tasks.join('\n')}\n`)
  const write = writer(world.project)
  for (const [name, text] of Object.entries(files)) write(name, text)
  commitAll(world.project)
  const agent = new WorkingAgent(works)
  const host = hostWith(world.home, agent)
  const book = new LoopBook(world.project, world.home)
  const run = async () => {
    const loop = await book.start(host, world.list)
    const end = await loop.run()
    return { end, state: loop.state, loopId: loop.state.loopId }
  }
  return { ...world, agent, host, book, run, write }
}

export function writer(folder: string) {
  return (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
}

/** In a file of the folder. */
export function replaceIn(folder: string, name: string, from: string | RegExp, to: string): void {
  const file = path.join(folder, name)
  const text = readFileSync(file, 'utf8')
  const next = text.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'g'), to)
  if (next === text) throw new Error(`${name} has no ${from}`)
  writeFileSync(file, next)
}

export function gitIn(folder: string, ...args: string[]): void {
  execFileSync('git', args, { cwd: folder })
}

/** Verdict of a task as if it were merged: two that changed the same line cannot both be. */
export function wordOf({ tasks }: LoopState, title: string) {
  const task = [...tasks.values()].find(one => one.task.title === title)
  if (task?.proof === undefined) return { word: task?.status ?? 'not begun', kinds: [], why: task?.why, task }
  const verdict = verdictOf({ ...task, status: 'merged' })
  const flags = verdict !== undefined && 'flags' in verdict ? verdict.flags : []
  return { word: verdict?.word, kinds: flags.map(({ kind }) => kind), flags, task }
}
