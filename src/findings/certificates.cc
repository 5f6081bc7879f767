#include "findings/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <memory>

#include "base/destroy_with.h"

namespace walrelay {
namespace {

using Bio = std::unique_ptr<BIO, DestroyWith<&BIO_free>>;
using X509Certificate = std::unique_ptr<X509, DestroyWith<&X509_free>>;
using TlsContext = std::unique_ptr<SSL_CTX, DestroyWith<&SSL_CTX_free>>;
using TlsSession = std::unique_ptr<SSL, DestroyWith<&SSL_free>>;

// The epoch if OpenSSL cannot read the time, so that such a certificate counts as expired. ASN.1
// times are UTC: timegm(), because mktime() would apply the host's time zone.
WallTime TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? WallTime(std::chrono::seconds(::timegm(&parts)))
                                            : WallTime();
}

// As in RFC 2253: "CN=db.internal,O=Example". The flag also escapes control characters, which a
// hostile peer could put into its certificate to change a terminal. "" if there is no text.
std::string SubjectOf(const X509* certificate) {
  const Bio text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  // The text belongs to the BIO and is not terminated by a zero byte.
  char* begin = nullptr;
  const long size = BIO_get_mem_data(text.get(), &begin);
  return size > 0 ? std::string(begin, static_cast<size_t>(size)) : "";
}

Certificate FactsOf(const X509* certificate) {
  return {.subject = SubjectOf(certificate),
          .not_before = TimeOf(X509_get0_notBefore(certificate)),
          .not_after = TimeOf(X509_get0_notAfter(certificate))};
}

// An absent chain is the null pointer, of which sk_X509_num() is -1.
std::vector<Certificate> FactsOf(const STACK_OF(X509) * chain) {
  std::vector<Certificate> out;
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    out.push_back(FactsOf(sk_X509_value(chain, i)));
  }
  return out;
}

// Replaces verification: the chain is known at this point, whether or not the handshake succeeds.
int TakeChain(X509_STORE_CTX* context, void* out) {
  *static_cast<std::vector<Certificate>*>(out) = FactsOf(X509_STORE_CTX_get0_untrusted(context));
  return 1;
}

// OpenSSL's queue is empty when the socket failed and not the TLS protocol: then
// ERR_peek_last_error() returns 0, for which there is no text.
std::string Reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason != nullptr ? reason : "the peer closed the connection";
}

// RFC 6066, section 3: the server name is not a literal address.
bool IsName(const std::string& host) {
  return host.find_first_not_of("0123456789.") != std::string::npos &&
         host.find(':') == std::string::npos;
}

// OpenSSL uses write() on sockets: without this, a peer that disconnects would end the process.
class WithoutSigpipe {
 public:
  WithoutSigpipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~WithoutSigpipe() { std::signal(SIGPIPE, before_); }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  void (*before_)(int);
};

// False if the handshake cannot continue, or at `deadline`.
bool WaitFor(SSL* session, int outcome, std::chrono::steady_clock::time_point deadline) {
  const int wanted = SSL_get_error(session, outcome);
  if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
    return false;
  }
  // Rounded up: a remaining fraction of a millisecond would become a poll() that does not wait.
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd socket{SSL_get_fd(session),
                static_cast<short>(wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
  return ::poll(&socket, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000))) > 0;
}

}  // namespace

// PEM_read_bio_X509() skips blocks of other kinds, so a file that also holds a private key works.
std::vector<Certificate> ParseCertificates(std::string_view pem) {
  const Bio text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Certificate> out;
  while (
      const X509Certificate certificate{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    out.push_back(FactsOf(certificate.get()));
  }
  ERR_clear_error();  // set at the end of the text
  return out;
}

// On the client's side the chain that OpenSSL returns starts with the peer's own certificate.
std::vector<Certificate> PeerCertificates(void* tls) {
  return FactsOf(SSL_get_peer_cert_chain(static_cast<SSL*>(tls)));
}

absl::StatusOr<std::vector<Certificate>> FetchCertificates(int socket, const std::string& host,
                                                           Micros timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  // A time limit for all steps together: a peer could answer one byte at a time.
  const WithoutSigpipe guard;
  ERR_clear_error();
  const TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) {
    return absl::ResourceExhaustedError(Reason());
  }
  std::vector<Certificate> chain;
  SSL_CTX_set_cert_verify_callback(context.get(), TakeChain, &chain);
  const TlsSession session(SSL_new(context.get()));
  if (!session) {
    return absl::ResourceExhaustedError(Reason());
  }
  SSL_set_fd(session.get(), socket);
  if (IsName(host)) {
    // SSL_set_tlsext_host_name() is a macro with a C-style cast.
    SSL_ctrl(session.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
  }
  int outcome = SSL_connect(session.get());
  while (outcome != 1 && WaitFor(session.get(), outcome, deadline)) {
    outcome = SSL_connect(session.get());
  }
  // Sends close_notify without waiting for the peer's: a server would otherwise log a truncated
  // connection.
  if (outcome == 1) {
    SSL_shutdown(session.get());
  }
  // A failed handshake is not an error if the chain is known: a broker that requires a client
  // certificate ends the handshake after it has sent its own chain.
  if (chain.empty()) {
    const std::string reason =
        std::chrono::steady_clock::now() >= deadline ? "timed out" : Reason();
    ERR_clear_error();
    // OpenSSL's queue of errors belongs to the thread: what remains there would be read as the
    // reason of a later failure.
    return absl::UnavailableError(reason);
  }
  ERR_clear_error();
  return chain;
}

}  // namespace walrelay
