import { lstat, mkdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '../../../common/errno.ts'
import { ToolError } from '../built-in-tool.ts'
import { PinnedDirectory } from './pinned-directory.ts'

export interface Place {
  /** Without links, inside one of the folders. */
  real: string
  exists: boolean
  /** For people: relative to the project where it is in there. */
  shown: string
}

/** The folders that the tools may touch. Every path goes through here. */
export class Workspace {
  /** The project first. All without links. */
  readonly roots: readonly string[]
  /** Files that searches leave out, by their path relative to the project. */
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

  /** Where a path of the model really leads. Throws when that is not inside. */
  async locate(given: unknown): Promise<Place> {
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

  /** The same for what is to be changed. Our own records of what happened are nothing for the one who made it happen. */
  async locateForWriting(given: unknown): Promise<Place> {
    const place = await this.locate(given)
    const isOurs = this.roots.some(
      root => path.relative(root, place.real).split(path.sep)[0] === '.chirality',
    )
    if (isOurs) throw new ToolError(`${place.shown}: .chirality belongs to Chirality and cannot be changed.`)
    return place
  }

  /** The folder that holds an existing or a new file, held open. */
  async openParent({ real }: Place): Promise<PinnedDirectory> {
    return PinnedDirectory.open(path.dirname(real))
  }

  /** Makes the folders on the way to a new file, each one checked. */
  async makeParents(place: Place): Promise<void> {
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

/** Linux takes no longer one. */
const MAX_PATH_CHARS = 4096

/** The part that exists is resolved, the rest is appended. A link that leads nowhere is refused: it could come to lead anywhere. */
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
