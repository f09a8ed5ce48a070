export function systemBubblewrap(): string | undefined
