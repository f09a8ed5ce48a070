import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import type { CodedError } from '@chirality/core'
import { z } from 'zod'
import { callError } from '../errors.ts'
import {
  createUserFile,
  listUserFiles,
  readUserFile,
  removeUserFile,
  writeUserFile,
} from '../system/user-files.ts'
import { typedFolder } from './typed-folder.ts'

/** A folder that the user registered for agents. */
export interface RegisteredProject {
  /** Its real path, which is also its id. */
  root: string
  name: string
  addedAt: string
}

/**
 * The folders that the user registered: `trusted/<hash>.json` in the user's own data folder. No agent runs in any other
 * folder: a path in a request, or a session in a cloned repository, is not the user's consent. One file each, because
 * several servers of one user change them at the same time, and with one list a change could be lost.
 */
export class ProjectRegistry {
  readonly #home: string
  readonly #onRemove: (root: string) => Promise<void>

  constructor(home: string, onRemove: (root: string) => Promise<void> = async () => {}) {
    this.#home = home
    this.#onRemove = onRemove
  }

  /** Oldest first. */
  async list(): Promise<RegisteredProject[]> {
    const files = await listUserFiles(this.#home, FOLDER)
    const projects = await Promise.all(files.map(name => this.#read(path.join(FOLDER, name))))
    return projects.flatMap(project => project ?? []).sort(byAge)
  }

  async add(folder: string, name?: string): Promise<RegisteredProject> {
    const root = await realFolder(folder)
    await requireNotOurs(root, this.#home)
    const file = fileOf(root)
    const known = await this.#read(file)
    if (known && (name === undefined || known.name === name)) return known
    const addedAt = known?.addedAt ?? new Date().toISOString()
    const project = { root, name: name ?? path.basename(root), addedAt }
    const text = `${JSON.stringify(project)}\n`
    if (name === undefined) {
      // Another server may have registered it first, with a name.
      if (await createUserFile(this.#home, file, text)) return project
      const other = await this.#read(file)
      if (other) return other
    }
    await writeUserFile(this.#home, file, text)
    return project
  }

  /** The folder's content stays. */
  async remove(root: string): Promise<void> {
    await this.require(root)
    await this.#onRemove(root)
    await removeUserFile(this.#home, fileOf(root))
  }

  /** By its real path only. */
  async isRegistered(root: string): Promise<boolean> {
    return (await this.#read(fileOf(root))) !== undefined
  }

  /** The real path of a project that was registered; throws for any other folder. */
  async require(folder: string): Promise<string> {
    if (await this.#read(fileOf(folder))) return folder
    const root = await realpath(folder).catch(() => undefined)
    if (root !== undefined && root !== folder && (await this.#read(fileOf(root)))) return root
    throw unknownProject(folder)
  }

  /**
   * Read each time, because another server of the same user may have changed it. Undefined if its content does not
   * match its name.
   */
  async #read(file: string): Promise<RegisteredProject | undefined> {
    const project = parseProject((await readUserFile(this.#home, file)) ?? '')
    return project && fileOf(project.root) === file ? project : undefined
  }
}

const FOLDER = 'trusted'

function fileOf(root: string): string {
  return path.join(FOLDER, `${createHash('sha256').update(root).digest('hex').slice(0, 32)}.json`)
}

function byAge(a: RegisteredProject, b: RegisteredProject): number {
  return a.addedAt === b.addedAt ? (a.root < b.root ? -1 : 1) : a.addedAt < b.addedAt ? -1 : 1
}

const FILE = z.object({ root: z.string(), name: z.string(), addedAt: z.string() })

function parseProject(text: string): RegisteredProject | undefined {
  try {
    return FILE.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

async function realFolder(typed: string): Promise<string> {
  const folder = typedFolder(typed)
  const root = await realpath(folder).catch(() => undefined)
  const stats = root === undefined ? undefined : await stat(root)
  if (root === undefined || stats === undefined) {
    throw callError('project-missing', `The folder ${folder} does not exist.`)
  }
  if (!stats.isDirectory()) {
    throw callError('project-not-a-directory', `${folder} is a file, not a folder.`)
  }
  if (root === path.parse(root).root) {
    throw callError('project-too-wide', 'The whole disk cannot be a project. Choose a folder.')
  }
  if (isOfSystem(root)) {
    throw callError('project-reserved', `${root} is made by the system. Choose the folder of your project.`)
  }
  return root
}

/** Not a disk: what is read there is devices and processes, and what is written there changes them. */
function isOfSystem(root: string): boolean {
  const [, top = '', below] = root.split(path.sep)
  return ['dev', 'proc', 'sys'].includes(top) && !(top === 'dev' && below === 'shm' && root !== '/dev/shm')
}

/**
 * An agent in git's own folder, or in the data folder with the user's token and policies, could change what restricts
 * it.
 */
async function requireNotOurs(root: string, home: string): Promise<void> {
  const isGit = root.split(path.sep).some(part => part.toLowerCase() === '.git')
  const inData = path.relative(await realpath(home).catch(() => home), root).split(path.sep)
  // The demo project is in the data folder.
  const isData = !['..', 'demo'].includes(inData[0] ?? '') && !path.isAbsolute(inData[0] ?? '')
  if (!isGit && !isData) return
  const what = isGit ? "git's own folder" : 'in the data folder of Chirality'
  throw callError('project-reserved', `${root} is ${what}. Choose the folder of your project.`)
}

function unknownProject(folder: string): CodedError {
  return callError(
    'project-not-registered',
    `${folder} is not one of your projects. Add it first: nothing runs in a folder that you did not choose.`,
  )
}
