import { StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { FirstConnection } from './app/App.tsx'
import { WaitForServer } from './app/sign-in/ServerDown.tsx'
import { SignedOut } from './app/sign-in/SignedOut.tsx'
import { withdrawAll } from './notices/notice-board.ts'
import { startTheme } from './state/kept/theme.ts'
import { createTrpcApi } from './state/server/trpc-api.ts'
import { isServerUp } from './state/sign-in/server-up.ts'
import { comeBack, forgetToken, keepToken, signIn } from './state/sign-in/sign-in.ts'
import { shareToken } from './state/sign-in/token-channel.ts'
import { TokenKeeper } from './state/sign-in/token-keeper.ts'
import './styles/tokens.css'
import './styles/base.css'

startTheme()
const element = document.getElementById('root')
if (element) void start(createRoot(element))

async function start(root: Root): Promise<void> {
  const result = await signIn()
  switch (result.kind) {
    case 'signed-in':
      return open(root, result)
    case 'refused':
      return askForLink(root, result.message)
    case 'unreachable':
      return waitForServer(root)
    case 'none':
      // A page out of the cache does not know yet whether there is a server.
      return (await isServerUp()) ? askForLink(root) : waitForServer(root)
  }
}

function open(root: Root, signedIn: { token: string; isFresh: boolean }): void {
  registerWorker()
  const keeper = new TokenKeeper(signedIn.token, signedIn)
  const stopSharing = shareToken(() => keeper.token)
  const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/trpc`
  const onRefused = async () => {
    forgetToken(keeper.token)
    stopSharing()
    const result = await comeBack()
    if (result.kind === 'signed-in') {
      keepToken(result.token)
      return open(root, result)
    }
    void withdrawAll()
    askForLink(root, result.kind === 'refused' ? result.message : STARTED_ANEW)
  }
  const api = createTrpcApi(() => keeper.current(), { url, onRefused: () => void onRefused() })
  root.render(
    <StrictMode>
      <FirstConnection key={signedIn.token} api={api} />
    </StrictMode>,
  )
}

const STARTED_ANEW = 'The server was started anew, and this browser keeps no key to sign in with by itself.'

function askForLink(root: Root, message?: string): void {
  root.render(
    <SignedOut {...(message ? { message } : {})} onToken={token => open(root, { token, isFresh: false })} />,
  )
}

function waitForServer(root: Root): void {
  root.render(<WaitForServer onUp={() => void start(root)} />)
}

/** Only in what was built: `vite dev` has no such file, and wants no cache. */
function registerWorker(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  // Without one, as in some private windows, all works but starting without a server and notifications.
  const register = () =>
    void navigator.serviceWorker.register('/sw.js', { updateViaCache: 'none' }).catch(() => undefined)
  // What the page itself needs comes first.
  if ('requestIdleCallback' in window) requestIdleCallback(register, { timeout: MAX_WAIT_MS })
  else setTimeout(register, MAX_WAIT_MS)
}

const MAX_WAIT_MS = 2000
