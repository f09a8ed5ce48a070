import { realpath, rename, stat } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { CallError } from '../errors/call-error.ts'
import { readUserFile, writeUserFile } from '../system/user-files.ts'

/** A folder that the user said agents may work in. */
export interface RegisteredProject {
  /** Its real path, which is its id, too. */
  root: string
  name: string
  addedAt: string
}

/**
 * The folders that the user trusts, in the user's own data folder. Nothing runs in any other: a path in a request, or a
 * session that lies around in a cloned repository, is not the user's word.
 */
export class ProjectRegistry {
  readonly #home: string
  readonly #onRemove: (root: string) => Promise<void>
  #known: Known = { version: '', projects: new Map(), damaged: false }
  #changing: Promise<unknown> = Promise.resolve()

  constructor(home: string, onRemove: (root: string) => Promise<void> = async () => {}) {
    this.#home = home
    this.#onRemove = onRemove
  }

  async list(): Promise<RegisteredProject[]> {
    return [...(await this.#read()).values()]
  }

  async add(folder: string, name?: string): Promise<RegisteredProject> {
    const root = await realFolder(folder)
    return this.#change(projects => {
      const known = projects.get(root)
      const addedAt = known?.addedAt ?? new Date().toISOString()
      const project = { root, name: name ?? known?.name ?? path.basename(root), addedAt }
      projects.set(root, project)
      return project
    })
  }

  /** What is in the folder stays. */
  async remove(root: string): Promise<void> {
    await this.require(root)
    await this.#onRemove(root)
    await this.#change(projects => projects.delete(root))
  }

  /** The real path of a project that was registered; throws for any other folder. */
  async require(folder: string): Promise<string> {
    const projects = await this.#read()
    if (projects.has(folder)) return folder
    const root = await realpath(folder).catch(() => undefined)
    if (root !== undefined && projects.has(root)) return root
    throw unknownProject(folder)
  }

  /** Read again when it changed: another server of the same user may have added a project. */
  async #read(): Promise<Projects> {
    const stats = await stat(path.join(this.#home, FILE_NAME)).catch(() => undefined)
    const version = stats === undefined ? 'none' : `${stats.ino}-${stats.mtimeMs}-${stats.size}`
    if (version !== this.#known.version) {
      const projects = parseProjects((await readUserFile(this.#home, FILE_NAME)) ?? EMPTY)
      this.#known = { version, projects: projects ?? new Map(), damaged: projects === undefined }
    }
    return this.#known.projects
  }

  #change<T>(change: (projects: Projects) => T): Promise<T> {
    const work = async () => {
      const projects = new Map(await this.#read())
      const result = change(projects)
      if (this.#known.damaged) await this.#setAside()
      const text = JSON.stringify({ projects: [...projects.values()] }, null, 2)
      await writeUserFile(this.#home, FILE_NAME, `${text}\n`)
      return result
    }
    const done = this.#changing.then(work, work)
    this.#changing = done
    return done
  }

  /** A list that cannot be read may still be mended by hand. */
  async #setAside(): Promise<void> {
    const file = path.join(this.#home, FILE_NAME)
    await rename(file, `${file}.damaged-${Date.now()}`)
  }
}

const FILE_NAME = 'projects.json'

type Projects = Map<string, RegisteredProject>

interface Known {
  version: string
  projects: Projects
  /** There is a file, and it is not a list of projects. */
  damaged: boolean
}

const FILE = z.object({
  projects: z.array(z.object({ root: z.string(), name: z.string(), addedAt: z.string() })),
})

const EMPTY = '{"projects":[]}'

/** Undefined when it is not such a file. */
function parseProjects(text: string): Projects | undefined {
  try {
    const { projects } = FILE.parse(JSON.parse(text))
    return new Map(projects.map(project => [project.root, project]))
  } catch {
    return undefined
  }
}

async function realFolder(folder: string): Promise<string> {
  if (!path.isAbsolute(folder)) {
    throw new CallError(
      'BAD_REQUEST',
      'project-not-absolute',
      'Give the whole path of the project, from / on.',
    )
  }
  const root = await realpath(folder).catch(() => undefined)
  const stats = root === undefined ? undefined : await stat(root)
  if (root === undefined || stats === undefined) {
    throw new CallError('NOT_FOUND', 'project-missing', `The folder ${folder} does not exist.`)
  }
  if (!stats.isDirectory()) {
    throw new CallError('BAD_REQUEST', 'project-not-a-directory', `${folder} is a file, not a folder.`)
  }
  if (root === path.parse(root).root) {
    throw new CallError(
      'BAD_REQUEST',
      'project-too-wide',
      'The whole disk cannot be a project. Choose a folder.',
    )
  }
  return root
}

function unknownProject(folder: string): CallError {
  return new CallError(
    'FORBIDDEN',
    'project-not-registered',
    `${folder} is not one of your projects. Add it first: nothing runs in a folder that you did not choose.`,
  )
}
