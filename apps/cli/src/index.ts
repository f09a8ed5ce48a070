export { EXIT, type ExitCode } from './exit-code.ts'
export { main } from './main.ts'
export { TerminalRenderer } from './render/terminal-renderer.ts'
