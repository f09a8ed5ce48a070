import { join } from 'node:path'
import type { FileOps } from '@chirality/disk'
import { removeIfThere, toStorageError } from '@chirality/disk'
import { findProjectFolder } from '../files/project-folder.ts'
import { SpoolIndex } from './spool-index.ts'
import { TurnImages } from './turn-images.ts'

/** Deletes what a session left beside its log: its queue, its turns, its prompts, its images, and unless they stay its raw logs. */
export async function removeTraces(
  { projectRoot, sessionId, ops }: { projectRoot: string; sessionId: string; ops: FileOps },
  rawLogs: 'remove' | 'keep',
): Promise<void> {
  const prompts = await findProjectFolder(projectRoot, 'prompts')
  if (prompts !== undefined) removeFiles(ops, prompts, name => name === `${sessionId}-system.txt`)
  for (const kind of ['queue', 'turns', 'notes']) {
    const state = await findProjectFolder(projectRoot, 'state', kind)
    if (state !== undefined) removeFiles(ops, state, name => name.startsWith(`${sessionId}.json`))
  }
  await new TurnImages(projectRoot, sessionId, ops).remove()
  if (rawLogs === 'keep') return
  await new SpoolIndex(projectRoot, sessionId, ops).remove()
  const logs = await findProjectFolder(projectRoot, 'logs')
  if (logs === undefined) return
  for (const harness of ops.readdir(logs)) {
    const folder = ops.lstat(join(logs, harness))?.isDirectory() ? join(logs, harness) : undefined
    const spool = new RegExp(`^\\d{8}T\\d{9}Z-${sessionId}-`)
    if (folder !== undefined) removeFiles(ops, folder, name => spool.test(name))
  }
}

function removeFiles(ops: FileOps, folder: string, isOurs: (name: string) => boolean): void {
  try {
    for (const name of ops.readdir(folder)) {
      if (isOurs(name)) removeIfThere(ops, join(folder, name))
    }
  } catch (error) {
    throw toStorageError(error, folder)
  }
}
