/** Where `chirality serve` is when no port is named. */
const DEFAULT_PORT = '4096'

/** Commands that start the server at the port where this page looks for it. */
export function startCommands(port: string): [start: string, serve: string] {
  if (port === DEFAULT_PORT) return ['npm start', 'npx chirality serve']
  return [`npm start -- --port ${port}`, `npx chirality serve --port ${port}`]
}

/** Commands that print a new link of the running server. A second `npm start` does not start a second server. */
export function linkCommands(port: string): [installed: string, start: string] {
  if (port === DEFAULT_PORT) return ['npx chirality link', 'npm start']
  return [`npx chirality link --port ${port}`, `npm start -- --port ${port}`]
}

export function isLoopback(hostname: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
}
