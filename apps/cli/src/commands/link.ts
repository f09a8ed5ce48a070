import type { SignedInBrowser } from '@chirality/centre'
import { listBrowsers, removeBrowser } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { noArgument, readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { minute, plain } from '../render/style.ts'
import { type LocalServer, newLink, runningServers } from '../running-server.ts'

/** Prints a new link to a running server; with --list and --revoke, handles the signed-in browsers. */
export async function link(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    port: { type: 'string' },
    list: { type: 'boolean' },
    revoke: { type: 'string' },
    json: { type: 'boolean' },
  })
  noArgument(positionals)
  if (values.list && values.revoke !== undefined)
    throw new UsageError('--list and --revoke exclude each other. Leave one out.')
  const home = userDataFolder()
  const port = wholeNumber('port', values.port, { min: 1, max: 65_535 })
  const servers = (await runningServers(home)).filter(
    ({ url }) => port === undefined || Number(new URL(url).port) === port,
  )
  const json = values.json ?? false
  if (values.list) return list(await browsersOf(home, servers), json, output)
  if (values.revoke !== undefined) return revoke(home, servers, values.revoke)
  return printLinks(servers, { port, json, output })
}

async function printLinks(
  servers: readonly LocalServer[],
  { port, json, output }: { port: number | undefined; json: boolean; output: Output },
): Promise<number> {
  let printed = 0
  for (const server of servers) {
    const made = await newLink(server)
    if (made === undefined) continue
    printed += 1
    const text = json
      ? `${JSON.stringify({ url: server.url, pid: server.pid, link: made.url, minutes: made.minutes })}\n`
      : linkText(server.url, made)
    await output.write(text)
  }
  if (printed > 0) return EXIT.done
  const where = port === undefined ? '' : ` on port ${port}`
  await tell(
    `chirality: No server of yours runs${where}. \`chirality serve\` starts one, and prints a link.\n`,
  )
  return EXIT.failed
}

export function linkText(address: string, { url, minutes }: { url: string; minutes: number }): string {
  return `Chirality is at ${address}. This link signs one browser in, once, within ${minutes} minutes:\n\n  ${url}\n\n`
}

/** The browsers in the data folder, and those that only a server knows, because they have no key. */
async function browsersOf(home: string, servers: readonly LocalServer[]): Promise<SignedInBrowser[]> {
  const known = await Promise.all([
    listBrowsers(home),
    ...servers.map(server => server.calls.system.browsers.query()),
  ])
  const byId = new Map(known.flat().map(browser => [browser.id, browser]))
  return [...byId.values()].sort((a, b) => b.lastSignInAt.localeCompare(a.lastSignInAt))
}

async function list(browsers: readonly SignedInBrowser[], json: boolean, output: Output): Promise<number> {
  await output.write(
    browsers.map(browser => (json ? `${JSON.stringify(browser)}\n` : line(browser))).join(''),
  )
  if (browsers.length === 0) await tell('chirality: No browser is signed in.\n')
  return EXIT.done
}

function line({ id, name, origin, lastSignInAt, remembered }: SignedInBrowser): string {
  const lasts = remembered ? '' : ', until the server stops'
  return `${id}  ${minute(lastSignInAt)}  ${plain(name)} at ${plain(origin)}${lasts}\n`
}

/** Every server is told, because each has issued tokens of its own. */
async function revoke(home: string, servers: readonly LocalServer[], wanted: string): Promise<number> {
  const browsers = await browsersOf(home, servers)
  const chosen = wanted === 'all' ? browsers : browsers.filter(({ id }) => id === wanted)
  if (chosen.length === 0) {
    await tell(
      wanted === 'all'
        ? 'chirality: No browser is signed in.\n'
        : `chirality: No browser "${wanted}" is signed in. --list shows them.\n`,
    )
    return EXIT.failed
  }
  for (const { id, name, origin } of chosen) {
    for (const server of servers) await server.calls.system.revokeBrowser.mutate({ id })
    await removeBrowser(home, id)
    await tell(`chirality: Signed out: ${plain(name)} at ${plain(origin)}.\n`)
  }
  return EXIT.done
}
