import { HarnessError, type HarnessId } from '@chirality/core'

const PACKAGE = '@modelcontextprotocol/sdk'

/**
 * Loads a module that uses the MCP SDK: an optional peer dependency, because it is a hundred packages, and needed only
 * for client tools and for trying out a tool server.
 */
export async function withMcpSdk<T>(load: () => Promise<T>, harnessId: HarnessId): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (!isMissing(cause)) throw cause
    const message = `Client tools and trying out a tool server need the MCP SDK, which is not installed, or too old. Install it with \`npm install ${PACKAGE}\`.`
    throw new HarnessError(message, 'not_installed', harnessId, cause)
  }
}

function isMissing(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  return MISSING.includes(code) && message.includes(PACKAGE)
}

/** The last one: an older release, without a file that is used here. */
const MISSING: unknown[] = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED']
