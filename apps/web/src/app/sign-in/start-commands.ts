/** Where `chirality serve` is when no port is named. */
const DEFAULT_PORT = '4096'

/** What starts the server so that this very page finds it again. */
export function startCommands(port: string): [start: string, serve: string] {
  if (port === DEFAULT_PORT) return ['npm start', 'npx chirality serve']
  return [`npm start -- --port ${port}`, `npx chirality serve --port ${port}`]
}

/** What prints a new link of the server that runs. A second `npm start` does not start a second one. */
export function linkCommands(port: string): [installed: string, start: string] {
  if (port === DEFAULT_PORT) return ['npx chirality link', 'npm start']
  return [`npx chirality link --port ${port}`, `npm start -- --port ${port}`]
}

export function isLoopback(hostname: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
}
