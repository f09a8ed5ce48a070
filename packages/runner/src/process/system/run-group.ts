import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sendSignal } from './process-table.ts'

/**
 * Puts a process that was just spawned into a cgroup of its own, if the system permits it. Everything it starts stays
 * in the cgroup, also a daemon that clears its environment, leaves its session and loses its parent: the name of the
 * group is then its marker. Several markers are nested groups. False if there is no cgroup v2, or none that is
 * writable.
 */
export function enclose(pid: number | undefined, ...markers: string[]): boolean {
  const parent = parentGroup()
  // The process could not be started.
  if (parent === undefined || pid === undefined) return false
  const path = join(parent, ...markers.map(groupName))
  try {
    mkdirSync(path, { recursive: true })
    moveInto(path, String(pid))
    return true
  } catch {
    // One that has already exited is in no group, or joined it by itself.
    hasFailed ||= !groupMarkers(pid).includes(markers.at(-1) ?? '') && sendSignal(pid, 0)
    removeGroup(path)
    return false
  }
}

/** The file by which a process joins the group of these markers. Undefined if there can be none. */
export function openRunGroup(...markers: string[]): string | undefined {
  const parent = parentGroup()
  if (parent === undefined) return undefined
  const path = join(parent, ...markers.map(groupName))
  try {
    mkdirSync(path, { recursive: true })
    return join(path, MEMBERS)
  } catch {
    hasFailed = true
    return undefined
  }
}

/**
 * Whether every process of a run is found, even one that hides its origin. False as soon as one run could not be put
 * into a cgroup.
 */
export function isEnclosing(): boolean {
  return !hasFailed && parentGroup() !== undefined
}

/** The markers of the cgroups that a process is in. */
export function groupMarkers(pid: number): string[] {
  if (mountPoint() === undefined) return []
  try {
    const groups = readFileSync(`/proc/${pid}/cgroup`, 'latin1')
    return [...groups.matchAll(GROUP_IN_PATH)].flatMap(([, marker]) => marker ?? [])
  } catch {
    // The process has exited since it was listed.
    return []
  }
}

/** Removes the cgroup of a run that has ended. A group with running processes stays. */
export function removeRunGroup(marker: string): void {
  const parent = parentGroup()
  if (parent !== undefined) removeGroup(join(parent, groupName(marker)))
}

const GROUP_PREFIX = 'chirality-'
const MEMBERS = 'cgroup.procs'
const GROUP_IN_PATH = /\/chirality-([A-Za-z0-9-]{8,64})(?=\/|$)/gm
/** A younger group without processes may be one that another server is about to use. */
const STALE_MS = 60_000

let hasFailed = false
let knownParent: { path: string | undefined } | undefined

function groupName(marker: string): string {
  return `${GROUP_PREFIX}${marker}`
}

/** This process's own cgroup, if groups can be created in it. */
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

/** Removes the groups of servers that were killed. */
function removeStaleGroups(parent: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    if (name.startsWith(GROUP_PREFIX) && Date.now() - statSync(path).mtimeMs > STALE_MS) removeGroup(path)
  }
}

/** Removes nested groups first; they belong to agents that ran Chirality themselves. */
function removeGroup(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(path, entry.name))
    rmdirSync(path)
  } catch {
    // The group does not exist, or a process still runs in it.
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

/** Moves the process and the children it has started before the move: rarely any, because it has just begun. */
function moveInto(path: string, pid: string): void {
  writeFileSync(join(path, MEMBERS), pid)
  for (const child of childrenOf(pid)) moveInto(path, child)
}

function childrenOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean)
  } catch {
    return []
  }
}
