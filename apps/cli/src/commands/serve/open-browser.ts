import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildChildEnv, processEnv } from '@chirality/runner'

/** Whether a person at this machine would see a browser. */
export function canOpenBrowser(env: Record<string, string> = processEnv()): boolean {
  if (env.CI || process.stdout.isTTY !== true) return false
  return process.platform === 'darwin' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME)
}

/**
 * Opens a link in the user's browser. Not as an argument, because every user of the machine can read those, and the
 * link signs its holder in. A page that only the user can read redirects there. Returns the function that removes the
 * page.
 */
export async function openBrowser(link: string, home: string): Promise<() => Promise<void>> {
  const folder = path.join(home, 'servers')
  const page = path.join(folder, `open-${randomBytes(6).toString('hex')}.html`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  })
  const child = spawn(opener(), [pathToFileURL(page).href], {
    env: { ...buildChildEnv({ source: processEnv(), allow: SCREEN }).env },
    stdio: 'ignore',
    detached: true,
  })
  // There may be no browser; the link is printed too.
  child.on('error', () => {})
  child.unref()
  return () => rm(page, { force: true })
}

const SCREEN = [
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_CURRENT_DESKTOP'],
  ...['XDG_SESSION_TYPE', 'DESKTOP_SESSION', 'BROWSER', 'WSL_DISTRO_NAME', 'WSL_INTEROP'],
]

function opener(): string {
  if (process.platform === 'darwin') return 'open'
  return processEnv().WSL_DISTRO_NAME ? 'wslview' : 'xdg-open'
}
