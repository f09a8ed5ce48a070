import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'

/** A project folder of its own for each test. */
export function useProject(): { readonly root: string; file(...parts: string[]): string } {
  let root = ''
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'chirality-sessions-')))
  })
  afterEach(() => {
    rmSync(root, { recursive: true, force: true })
  })
  return {
    get root() {
      return root
    },
    file: (...parts) => join(root, '.chirality', ...parts),
  }
}
