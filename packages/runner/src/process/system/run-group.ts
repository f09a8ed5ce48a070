import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sendSignal } from './process-table.ts'

/**
 * Puts a process that was just spawned into a cgroup of its own, where the system lets us make one. All that it starts stays in
 * there, also what clears its environment, leaves its session and loses its parent, as a daemon does: its marker is then the name
 * of the group. Of several markers each is a group in the one before. False where there is no cgroup v2, or none that we may write to.
 */
export function enclose(pid: number | undefined, ...markers: string[]): boolean {
  const parent = parentGroup()
  // It could not be started.
  if (parent === undefined || pid === undefined) return false
  const path = join(parent, ...markers.map(groupName))
  try {
    mkdirSync(path, { recursive: true })
    moveInto(path, String(pid))
    return true
  } catch {
    // One that has ended already has nothing to hide.
    hasFailed ||= sendSignal(pid, 0)
    removeGroup(path)
    return false
  }
}

/** Whether what a run started is known even when it hides where it comes from. False as soon as one run could not be enclosed. */
export function isEnclosing(): boolean {
  return !hasFailed && parentGroup() !== undefined
}

/** The markers of the groups that a process is in. */
export function groupMarkers(pid: number): string[] {
  if (mountPoint() === undefined) return []
  try {
    const groups = readFileSync(`/proc/${pid}/cgroup`, 'latin1')
    return [...groups.matchAll(GROUP_IN_PATH)].flatMap(([, marker]) => marker ?? [])
  } catch {
    // Gone since it was listed.
    return []
  }
}

/** Removes the group of a run that has ended. One in which something still runs stays. */
export function removeRunGroup(marker: string): void {
  const parent = parentGroup()
  if (parent !== undefined) removeGroup(join(parent, groupName(marker)))
}

const GROUP_PREFIX = 'chirality-'
const GROUP_IN_PATH = /\/chirality-([A-Za-z0-9-]{8,64})(?=\/|$)/gm
/** A group without processes that is younger may be one that another Chirality is about to use. */
const STALE_MS = 60_000

let hasFailed = false
let knownParent: { path: string | undefined } | undefined

function groupName(marker: string): string {
  return `${GROUP_PREFIX}${marker}`
}

/** Our own group, if we may make others in it. */
function parentGroup(): string | undefined {
  knownParent ??= { path: findParentGroup() }
  return knownParent.path
}

function findParentGroup(): string | undefined {
  const mount = mountPoint()
  if (mount === undefined) return undefined
  try {
    const own = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    if (own === undefined) return undefined
    const path = join(mount, own)
    const probe = join(path, `${GROUP_PREFIX}probe-${process.pid}`)
    mkdirSync(probe)
    rmdirSync(probe)
    removeStaleGroups(path)
    return path
  } catch {
    return undefined
  }
}

/** Of servers that were killed. */
function removeStaleGroups(parent: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    if (name.startsWith(GROUP_PREFIX) && Date.now() - statSync(path).mtimeMs > STALE_MS) removeGroup(path)
  }
}

/** Groups inside of it, of agents that ran Chirality themselves, go first. */
function removeGroup(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(path, entry.name))
    rmdirSync(path)
  } catch {
    // Not there, or something still runs in it.
  }
}

let knownMount: { path: string | undefined } | undefined

function mountPoint(): string | undefined {
  knownMount ??= { path: process.platform === 'linux' ? findMountPoint() : undefined }
  return knownMount.path
}

function findMountPoint(): string | undefined {
  try {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    const line = mounts.find(mount => mount.includes(' - cgroup2 '))
    return line?.split(' ')[4]
  } catch {
    return undefined
  }
}

/** With what it started before it was moved: rarely anything, as it has only just begun. */
function moveInto(path: string, pid: string): void {
  writeFileSync(join(path, 'cgroup.procs'), pid)
  for (const child of childrenOf(pid)) moveInto(path, child)
}

function childrenOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean)
  } catch {
    return []
  }
}
