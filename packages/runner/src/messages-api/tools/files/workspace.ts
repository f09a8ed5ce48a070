import { lstat, mkdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '@chirality/disk'
import { ToolError } from '../built-in-tool.ts'
import { PinnedDirectory } from './pinned-directory.ts'

export interface FilePlace {
  /** The resolved path, inside one of the folders. */
  real: string
  exists: boolean
  /** The path for display, relative to the project if inside it. */
  shown: string
}

/** The folders that the tools may access. Every path is checked here. */
export class Workspace {
  /** Resolved paths; the project is first. */
  readonly roots: readonly string[]
  /** Files that searches skip, by their path relative to the project. */
  isHidden: (file: string) => boolean = () => false

  private constructor(roots: readonly string[]) {
    this.roots = roots
  }

  static async open(cwd: string, additional: readonly string[] = []): Promise<Workspace> {
    return new Workspace(await Promise.all([cwd, ...additional].map(folder => realpath(folder))))
  }

  get cwd(): string {
    return this.roots[0] ?? '/'
  }

  /** Resolves a path from the model. Throws when it is outside the folders. */
  async locate(given: unknown): Promise<FilePlace> {
    if (typeof given !== 'string' || given === '') throw new ToolError('The path is empty.')
    if (given.includes('\0')) throw new ToolError('The path has a NUL character in it.')
    if (given.length > MAX_PATH_CHARS) throw new ToolError('The path is too long.')
    const asked = path.resolve(this.cwd, given)
    const { real, exists } = await resolveLinks(asked, given)
    if (!this.#contains(real)) {
      const roots = this.roots.join(', ')
      throw new ToolError(`${given} is outside the folders you may use: ${roots}`)
    }
    return { real, exists, shown: this.show(real) }
  }

  /**
   * The same for writing. Chirality's own records are protected: an agent must not change the record of its actions.
   */
  async locateForWriting(given: unknown): Promise<FilePlace> {
    const place = await this.locate(given)
    const isOurs = this.roots.some(
      root => path.relative(root, place.real).split(path.sep)[0] === '.chirality',
    )
    if (isOurs) throw new ToolError(`${place.shown}: .chirality belongs to Chirality and cannot be changed.`)
    return place
  }

  /** Opens the folder of an existing or new file. */
  async openParent({ real }: FilePlace): Promise<PinnedDirectory> {
    return PinnedDirectory.open(path.dirname(real))
  }

  /** Creates the parent folders of a new file and checks each one. */
  async makeParents(place: FilePlace): Promise<void> {
    const missing: string[] = []
    let folder = path.dirname(place.real)
    while ((await lstat(folder).catch(() => null)) === null) {
      missing.unshift(path.basename(folder))
      folder = path.dirname(folder)
    }
    for (const name of missing) {
      const parent = await PinnedDirectory.open(folder)
      try {
        await mkdir(parent.entry(name)).catch((error: unknown) => {
          if (errnoOf(error) !== 'EEXIST') throw error
        })
      } finally {
        await parent.close()
      }
      folder = path.join(folder, name)
    }
  }

  show(real: string): string {
    const relative = path.relative(this.cwd, real)
    return relative === '' ? '.' : relative.startsWith('..') ? real : relative
  }

  #contains(real: string): boolean {
    return this.roots.some(root => real === root || real.startsWith(root === '/' ? root : `${root}/`))
  }
}

/** The limit on Linux. */
const MAX_PATH_CHARS = 4096

/**
 * Resolves the existing part and appends the rest. Refuses a dangling symlink, whose target could be created anywhere
 * later.
 */
async function resolveLinks(asked: string, given: string): Promise<{ real: string; exists: boolean }> {
  const missing: string[] = []
  for (let existing = asked; ; existing = path.dirname(existing)) {
    try {
      return { real: path.join(await realpath(existing), ...missing), exists: missing.length === 0 }
    } catch (error) {
      const code = errnoOf(error)
      if (code === 'ELOOP') throw new ToolError(`${given} is a symbolic link that points to itself.`)
      if (code === 'ENOTDIR') throw new ToolError(`${given}: a part of the path is a file.`)
      if (code !== 'ENOENT') throw new ToolError(`${given} cannot be read (${code ?? String(error)}).`)
      const info = await lstat(existing).catch(() => null)
      if (info?.isSymbolicLink())
        throw new ToolError(`${given} is a symbolic link to a file that does not exist.`)
      missing.unshift(path.basename(existing))
    }
  }
}
