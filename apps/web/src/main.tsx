import { StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { FirstConnection } from './app/FirstConnection.tsx'
import { registerWorker } from './app/register-worker.ts'
import { WaitForServer } from './app/ServerDown.tsx'
import { SignedOut } from './app/SignedOut.tsx'
import { withdrawAll } from './notices/notice-board.ts'
import { isServerUp } from './state/server-up.ts'
import { forgetToken, signIn } from './state/sign-in.ts'
import { shareToken } from './state/token-channel.ts'
import { createTrpcApi } from './state/trpc-api.ts'
import './styles/tokens.css'
import './styles/base.css'

const element = document.getElementById('root')
if (element) void start(createRoot(element))

async function start(root: Root): Promise<void> {
  const result = await signIn()
  switch (result.kind) {
    case 'signed-in':
      return open(root, result.token)
    case 'refused':
      return askForLink(root, result.message)
    case 'unreachable':
      return waitForServer(root)
    case 'none':
      // A page out of the cache does not know yet whether there is a server.
      return (await isServerUp()) ? askForLink(root) : waitForServer(root)
  }
}

function open(root: Root, token: string): void {
  registerWorker()
  const stopSharing = shareToken(token)
  const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/trpc`
  const onRefused = () => {
    forgetToken(token)
    stopSharing()
    void withdrawAll()
    askForLink(root, 'The server was started anew.')
  }
  const api = createTrpcApi(token, { url, onRefused })
  root.render(
    <StrictMode>
      <FirstConnection key={token} api={api} />
    </StrictMode>,
  )
}

function askForLink(root: Root, message?: string): void {
  root.render(<SignedOut {...(message ? { message } : {})} onToken={token => open(root, token)} />)
}

function waitForServer(root: Root): void {
  root.render(<WaitForServer onUp={() => void start(root)} />)
}
