import { mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { writeFileNow as replaceFile } from '@chirality/disk'
import { endMarked } from '@chirality/runner'
import { setUpFolder } from '@chirality/sessions'
import { failureOf, hasPassed, runShown } from '../checks.ts'
import type { LoopContext } from '../loop-context.ts'
import { TaskTree } from '../task-tree.ts'
import { type CheckRun, runCounted } from './counted-check.ts'
import { testsWrittenSince } from './hidden-changes.ts'
import type { ChangedFile } from './matter.ts'

/** Removes what killed processes left of the checkouts of a loop. */
export async function removeLeft({ host, state }: Pick<LoopContext, 'host' | 'state'>): Promise<void> {
  const folder = path.join(host.home, 'judging')
  const left = await readdir(folder).catch(() => [])
  for (const id of left.filter(name =>
    [state.loopId, state.worktreeId].some(start => name.startsWith(start)),
  ))
    await remove(state.projectRoot, host.home, id)
}

/** Example of the folder of a checkout: each has one of its own. */
export function judgingFolder(home: string): string {
  return path.join(home, 'judging', 'any', 'checkout')
}

async function remove(projectRoot: string, home: string, id: string): Promise<void> {
  const project = await TaskTree.open(projectRoot)
  const parent = path.join(home, 'judging', id)
  await endMarked(markerOf(id))
  await project.removeCheckOut(path.join(parent, path.basename(project.top)))
  await rm(parent, { recursive: true, force: true })
}

/** A worktree without a branch in which no agent was. It is made for some runs of checks, and removed after them. */
export class FreshCheckout {
  readonly tree: TaskTree
  readonly #loop: LoopContext
  readonly #id: string
  /** The task under which its commands are shown while they run. */
  readonly #shownAs: string
  #variables: Record<string, string> = {}

  private constructor(loop: LoopContext, names: { id: string; shownAs: string }, tree: TaskTree) {
    this.#loop = loop
    this.#id = names.id
    this.#shownAs = names.shownAs
    this.tree = tree
  }

  /** `id`: the same for the same work, so that what a killed process left is found. */
  static async with<T>(
    loop: LoopContext,
    { id, shownAs, commit }: { id: string; shownAs: string; commit: string },
    work: (checkout: FreshCheckout) => Promise<T>,
  ): Promise<T> {
    const project = await TaskTree.open(loop.state.projectRoot)
    const parent = path.join(loop.host.home, 'judging', id)
    const top = path.join(parent, path.basename(project.top))
    const removed = () => remove(loop.state.projectRoot, loop.host.home, id)
    await removed()
    try {
      await mkdir(parent, { recursive: true, mode: 0o700 })
      await project.checkOut(top, commit)
      return await work(
        new FreshCheckout(loop, { id, shownAs }, await TaskTree.open(path.join(top, project.prefix), id)),
      )
    } finally {
      await removed()
    }
  }

  /** Sets it up as worktrees of tasks are: by the list, and then by the user's set-up. Resolves with the reason if that fails. */
  async setUp(): Promise<string | undefined> {
    const { host, state, signal } = this.#loop
    for (const command of state.settings.setup) {
      const result = await runShown(command, this.#options(), this.#shown())
      if (!hasPassed(result)) return failureOf(result)
    }
    const place = { projectRoot: state.projectRoot, id: this.#id, folder: this.tree.folder, signal }
    const { variables, problems } = await setUpFolder(host, place)
    this.#variables = variables
    return problems[0]
  }

  /** `timeoutMs`: where there is less time than a check has. */
  run(check: string, timeoutMs = Number.POSITIVE_INFINITY): Promise<CheckRun> {
    const options = this.#options()
    return runCounted(check, { ...options, timeoutMs: Math.min(options.timeoutMs, timeoutMs) }, this.#shown())
  }

  /** Tests that something wrote to since a moment at which checks began. */
  async writtenSince(since: number): Promise<string[]> {
    return testsWrittenSince(this.tree.top, await this.tree.filesIn('HEAD'), since)
  }

  /** Makes these files as they are in a commit. Files in `texts` get that text instead. */
  async put(
    commit: string,
    files: readonly ChangedFile[],
    { gone, texts = new Map() }: { gone: 'A' | 'D'; texts?: ReadonlyMap<string, string> },
  ): Promise<void> {
    for (const { path: file, status } of files)
      if (status === gone) await rm(path.join(this.tree.top, file), { recursive: true, force: true })
    const there = files.filter(file => file.status !== gone && !texts.has(file.path))
    await this.tree.restoreFrom(
      commit,
      there.map(file => file.path),
    )
    for (const { path: file } of files) {
      const text = texts.get(file)
      // In the place of a link that an agent committed, and not where it leads.
      if (text !== undefined) replaceFile(path.join(this.tree.top, file), text)
    }
  }

  #options() {
    const { signal, state } = this.#loop
    const timeoutMs = state.settings.check_minutes * 60_000
    return { cwd: this.tree.folder, marker: markerOf(this.#id), signal, timeoutMs, env: this.#variables }
  }

  #shown() {
    return { id: this.#shownAs, running: this.#loop.running }
  }
}

function markerOf(id: string): string {
  return `judging-${id}`
}
