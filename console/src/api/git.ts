import { request } from "./client";
import type { Decimal } from "./decimal";
import type { FailedFile, GitStatus } from "./types";

export interface GitSync {
  before: string | null;
  after: string;
  changed: string[];
  removed: string[];
  loaded: string[];
  failed: FailedFile[];
  rule_set_version: Decimal;
}

export function gitStatus(signal: AbortSignal): Promise<GitStatus> {
  return request("git/status", { signal });
}

export function gitSync(force: boolean): Promise<GitSync> {
  return request("git/sync", { method: "POST", body: { force } });
}

export function gitPull(): Promise<GitSync> {
  return request("git/pull", { method: "POST" });
}

export function gitPush(message: string): Promise<{ commit: string; branch: string; files: string[] }> {
  return request("git/push", { method: "POST", body: { message } });
}

export function gitClone(url: string, branch: string, token: string): Promise<{ branch: string; message: string }> {
  const body = { url, ...(branch && { branch }), ...(token && { token }) };
  return request("git/clone", { method: "POST", body });
}
