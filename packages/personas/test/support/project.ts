import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach } from 'vitest'

/** A project folder of each test's own, beside an `outside` that no persona may reach. */
export interface TestProject {
  readonly root: string
  readonly outside: string
  path(...parts: string[]): string
  /** Files by path; folders come by themselves. */
  write(files: Record<string, string | Uint8Array>): void
  link(name: string, target: string): void
  /** As if the file had last been changed long ago, always at the same moment. */
  age(name: string): void
}

const LONG_AGO = new Date('2020-01-01T00:00:00Z')

export function useProject(): TestProject {
  let top = ''
  beforeEach(() => {
    top = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-personas-')))
    mkdirSync(path.join(top, 'project'))
    mkdirSync(path.join(top, 'outside'))
  })
  afterEach(() => rmSync(top, { recursive: true, force: true }))

  const inProject = (...parts: string[]) => path.join(top, 'project', ...parts)
  const makeFolderOf = (name: string) => mkdirSync(path.dirname(inProject(name)), { recursive: true })
  return {
    get root() {
      return path.join(top, 'project')
    },
    get outside() {
      return path.join(top, 'outside')
    },
    path: inProject,
    write(files) {
      for (const [name, content] of Object.entries(files)) {
        makeFolderOf(name)
        writeFileSync(inProject(name), content)
      }
    },
    link(name, target) {
      makeFolderOf(name)
      symlinkSync(target, inProject(name))
    },
    age(name) {
      utimesSync(inProject(name), LONG_AGO, LONG_AGO)
    },
  }
}
