import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, onTestFinished } from 'vitest'
import { Worktrees } from '../../src/worktrees/worktrees.ts'

/** A repository and a clone of it, between which work is carried. */
export interface TwoClones {
  folder: string
  here: Repository
  there: string
  worktrees: Worktrees
  bundle: string
}

/** Made anew for each test, with these files in the first commit. */
export function useTwoClones(files: Record<string, string>): () => TwoClones {
  let clones: TwoClones
  beforeEach(() => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-carried-')))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const here = initRepository(path.join(folder, 'here'))
    for (const [file, text] of Object.entries(files)) here.write(file, text)
    here.run('add', '.')
    here.run('commit', '-qm', 'first')
    const there = path.join(folder, 'there')
    here.run('clone', '-q', here.root, there)
    const worktrees = new Worktrees(path.join(folder, 'home', 'worktrees'))
    clones = { folder, here, there, worktrees, bundle: path.join(folder, 'work.bundle') }
  })
  return () => clones
}
