// @ts-check
import { readFileSync } from 'node:fs'

/** @typedef {import('../cage-plan.ts').CagePlan} CagePlan */
/** @typedef {import('../cage-plan.ts').CageMount} CageMount */

/** The folder of the sockets inside of the cage. */
export const INSIDE = '/run/chirality'

/**
 * The arguments of bubblewrap. The last ones are the agent's command, started by the launch script.
 * @param {CagePlan} plan
 * @param {string} sockets
 */
export function bwrapArgs({ mounts, command, args, cwd }, sockets) {
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'],
    ...['--die-with-parent', '--new-session', '--hostname', 'cage', '--info-fd', '4'],
    ...mounts.flatMap(mountArgs),
    ...['--ro-bind', sockets, INSIDE, '--remount-ro', '/', '--chdir', cwd],
    ...['--', '/bin/sh', `${INSIDE}/launch.sh`, command, ...args],
  ]
}

/** @param {CageMount} mount */
function mountArgs(mount) {
  switch (mount.kind) {
    case 'read':
      return ['--ro-bind', mount.from, mount.at]
    case 'write':
      return ['--bind', mount.from, mount.at]
    case 'empty':
      return mount.at === '/proc' || mount.at === '/dev'
        ? [`--${mount.at.slice(1)}`, mount.at]
        : ['--tmpfs', mount.at]
    case 'link':
      return ['--symlink', mount.to, mount.at]
  }
}

/**
 * The agent's pid on the host: the second process of the cage's pid namespace, whose first is the monitor.
 * @param {number} monitor
 * @returns {number | undefined}
 */
export function agentPid(monitor) {
  try {
    const children = readFileSync(`/proc/${monitor}/task/${monitor}/children`, 'latin1').trim().split(' ')
    return children.filter(Boolean).map(Number).find(isSecond)
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function isSecond(pid) {
  try {
    return /^NSpid:.*\t2$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
}
